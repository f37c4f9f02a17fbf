// SPDX-License-Identifier: Apache-2.0
// The kept Python goes on in a fork: names, modules, generators, large things.
#include <gtest/gtest.h>

#include <string>

#include "cloche/sandbox.h"
#include "engines_testing.h"
#include "native/host/test_image_testing.h"

namespace cloche::testing {
namespace {

class PythonForks : public OnEachEngine {
 protected:
  void SetUp() override {
    OnEachEngine::SetUp();
    if (IsSkipped() || !is_linux()) return;
    if (!native::test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
#ifndef __x86_64__
    GTEST_SKIP() << "an interpreter is frozen on x86-64 alone";
#endif
  }

  static std::string said(Sandbox& sandbox, std::string_view source) {
    const RunResult result = sandbox.run_python(source);
    EXPECT_EQ(result.exit_code, 0) << result.stderr_data << result.reason;
    EXPECT_EQ(result.reason, "");
    return result.stdout_data + result.stderr_data;
  }
};

TEST_P(PythonForks, HaveWhatItHad) {
  const auto sandbox = make_sandbox();
  said(*sandbox,
       "import json, decimal, random\n"
       "class Counter:\n"
       "    def __init__(self): self.value = 41\n"
       "    def next(self): self.value += 1; return self.value\n"
       "counter = Counter()\n"
       "large = bytearray(range(256)) * 40000\n"
       "steps = (n * n for n in range(10))\n"
       "next(steps), next(steps)\n");
  const auto twin = sandbox->fork();
  EXPECT_EQ(said(*twin, "print(counter.next(), len(large), large[-1], next(steps))"),
            "42 10240000 255 4\n");
  EXPECT_EQ(said(*twin, "large[0] = 7; print(json.dumps([1]), decimal.Decimal('0.1') * 3)"),
            "[1] 0.3\n");
  EXPECT_EQ(said(*sandbox, "print(counter.value, large[0], next(steps))"), "41 0 4\n");
}

TEST_P(PythonForks, OfForksGoOn) {
  auto sandbox = make_sandbox();
  said(*sandbox, "made = []");
  for (int i = 0; i < 5; ++i) {
    said(*sandbox, "made.append(len(made))");
    sandbox = sandbox->fork();
  }
  EXPECT_EQ(said(*sandbox, "print(made)"), "[0, 1, 2, 3, 4]\n");
}

TEST_P(PythonForks, AreManyOfOne) {
  const auto sandbox = make_sandbox();
  said(*sandbox, "value = 0");
  std::vector<std::unique_ptr<Sandbox>> twins;
  for (int i = 0; i < 8; ++i) {
    said(*sandbox, "value += 1");
    twins.push_back(sandbox->fork());
  }
  for (std::size_t i = 0; i < twins.size(); ++i) {
    EXPECT_EQ(said(*twins[i], "print(value)"), std::to_string(i + 1) + "\n");
  }
}

// Two that go on from the same place are no twins where chance is concerned.
TEST_P(PythonForks, DrawOtherNumbers) {
  const auto sandbox = make_sandbox();
  said(*sandbox, "import random, os; random.seed(1)");
  const auto first = sandbox->fork(), second = sandbox->fork();
  const std::string draw = "print(random.random(), os.urandom(8).hex())";
  EXPECT_NE(said(*first, draw), said(*second, draw));
}

TEST_P(PythonForks, EndAndBeginAsAnyOther) {
  const auto sandbox = make_sandbox();
  said(*sandbox, "x = 1");
  const auto twin = sandbox->fork();
  EXPECT_EQ(
      twin->run_python("while True: pass", {.timeout = std::chrono::milliseconds(300)}).status,
      RunStatus::timed_out);
  EXPECT_EQ(twin->run_python("print('x' in dir())").stdout_data, "False\n");
  EXPECT_EQ(said(*sandbox, "print(x)"), "1\n");
}

TEST_P(PythonForks, OfASandboxWithoutOneHaveNone) {
  const auto sandbox = make_sandbox();
  const auto twin = sandbox->fork();
  EXPECT_EQ(said(*twin, "print(1)"), "1\n");
}

CLOCHE_ON_EACH_ENGINE(PythonForks);

}  // namespace
}  // namespace cloche::testing
