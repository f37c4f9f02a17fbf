// SPDX-License-Identifier: Apache-2.0
// A Python that goes on from an image of one that had just begun is as one that has begun.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "cloche/files.h"
#include "cloche/sandbox.h"
#include "engines_testing.h"
#include "native/host/patience.h"
#include "native/host/test_image_testing.h"

namespace cloche::testing {
namespace {

class PythonStarts : public OnEachEngine {
 protected:
  void SetUp() override {
    if (!is_linux()) GTEST_SKIP() << "the other engine's images have their own tests";
    OnEachEngine::SetUp();
    if (IsSkipped()) return;
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

  // The program that it is, is the one that thaws.
  static bool is_thawed(Sandbox& sandbox) {
    return said(sandbox, "import os; print(os.readlink('/proc/self/exe'))").find("python") ==
           std::string::npos;
  }

  // Until this start has an image; null, with a failure, where it gets none.
  std::unique_ptr<Sandbox> make_with_image(const SandboxOptions& options = {}) {
    const auto end = std::chrono::steady_clock::now() + native::patience;
    while (std::chrono::steady_clock::now() < end) {
      auto sandbox = make_sandbox(options);
      if (is_thawed(*sandbox)) return sandbox;
    }
    ADD_FAILURE() << "no Python has gone on from an image";
    return make_sandbox(options);
  }
};

// What a program can ask about itself and where it is.
constexpr const char* look =
    "import os, sys, json\n"
    "print(json.dumps([sys.argv, sys.path, sys.flags.__repr__(), os.getcwd(), dict(os.environ), "
    "os.getuid(), sorted(os.listdir('/proc/self/fd')), __name__, sorted(globals()), "
    "os.umask(0o22), open('/proc/self/comm').read(), sys.executable, sys.stdout.encoding, "
    "[str(w) for w in sys.warnoptions], os.getppid(), os.getsid(0) == os.getpid()]))";

TEST_P(PythonStarts, AreAsOneThatHasBegun) {
  SandboxOptions options;
  options.environment = {{"STARTS", "look"}};
  const std::string begun = said(*make_sandbox(options), look);
  const auto sandbox = make_with_image(options);
  EXPECT_EQ(said(*make_sandbox(options), look), begun);
  EXPECT_EQ(said(*sandbox, "x = 6"), "");
  EXPECT_EQ(said(*sandbox, "print(x * 7)"), "42\n");
  const auto twin = sandbox->fork();
  EXPECT_EQ(said(*twin, "x += 1; print(x)"), "7\n");
  EXPECT_EQ(said(*sandbox, "print(x)"), "6\n");
  EXPECT_EQ(sandbox->run_python("raise SystemExit(3)").exit_code, 3);
  EXPECT_EQ(sandbox->run_python("import os; os._exit(5)").exit_code, 5);
  EXPECT_EQ(said(*sandbox, "print('x' in dir())"), "False\n");
}

// What has not changed of it is in no image of a fork, nor in those of the fork's forks.
TEST_P(PythonStarts, AreInForksWhatTheyWere) {
  const std::string files =
      "import re; print(set(re.findall(r' (\\d+) +/memfd:cloche-start', "
      "open('/proc/self/maps').read())))";
  auto sandbox = make_with_image();
  said(*sandbox, "made = []");
  const auto twin = sandbox->fork();
  const std::string of_twin = said(*twin, files);
  EXPECT_NE(of_twin, "set()\n");
  for (int i = 0; i < 4; ++i) {
    said(*sandbox, "made.append(len(made))");
    sandbox = sandbox->fork();
    EXPECT_EQ(said(*sandbox, files), of_twin);
  }
  EXPECT_EQ(said(*sandbox, "import decimal; print(made, decimal.Decimal('0.1') * 3)"),
            "[0, 1, 2, 3] 0.3\n");
  EXPECT_EQ(said(*twin, "print(made)"), "[]\n");
}

TEST_P(PythonStarts, HaveTheirOwnVariablesFilesAndChance) {
  const auto sandbox = make_with_image();
  SandboxOptions other;
  other.environment = {{"WHICH", "other"}};
  EXPECT_EQ(said(*make_sandbox(other), "import os; print(os.environ['WHICH'])"), "other\n");
  const auto late = make_sandbox();
  late->set_environment("WHICH", "late");
  EXPECT_EQ(said(*late, "import os; print(os.environ['WHICH'])"), "late\n");
  const auto with_module = make_sandbox();
  ASSERT_TRUE(with_module->files().write("/workspace/own.py", "value = 8\n").ok());
  EXPECT_EQ(said(*with_module,
                 "import os; os.chdir('/workspace'); import sys; "
                 "sys.path.insert(0, '/workspace'); import own; print(own.value)"),
            "8\n");
  const std::string draw = "import random, os; print(random.random(), os.urandom(8).hex())";
  EXPECT_NE(said(*make_sandbox(), draw), said(*make_sandbox(), draw));
}

// Where something may be otherwise than in the image an interpreter begins by itself.
TEST_P(PythonStarts, AreNotForWhoHasChangedTheImage) {
  (void)make_with_image();
  const auto changed = make_sandbox();
  ASSERT_EQ(changed->run({.script = "mkdir -p /usr/lib/own"}).exit_code, 0);
  EXPECT_FALSE(is_thawed(*changed));
  const auto less = make_sandbox();
  ASSERT_EQ(less->run({.script = "rm /usr/bin/yes"}).exit_code, 0);
  EXPECT_FALSE(is_thawed(*less));
  const auto users = make_sandbox();
  ASSERT_EQ(users->run({.script = "mkdir -p /workspace/.local/lib"}).exit_code, 0);
  EXPECT_FALSE(is_thawed(*users));
  const auto moved = make_sandbox();
  ASSERT_EQ(moved->run({.script = "rm -r /tmp; ln -s /usr /tmp"}).exit_code, 0);
  EXPECT_FALSE(is_thawed(*moved));
  const auto worked = make_sandbox();
  ASSERT_EQ(worked->run({.script = "echo x >/workspace/f; mkdir /tmp/d"}).exit_code, 0);
  EXPECT_TRUE(is_thawed(*worked));
}

TEST_P(PythonStarts, AreNotForWhoseVariablesLeadElsewhere) {
  for (const auto& [name, value] :
       {std::pair{"PYTHONPATH", "/opt"}, std::pair{"PATH", "/workspace/bin:/usr/bin:/bin"},
        std::pair{"PATH", "bin:/usr/bin"}, std::pair{"LD_LIBRARY_PATH", "/opt"},
        std::pair{"GCONV_PATH", "/tmp/own"}}) {
    SandboxOptions options;
    options.environment = {{name, value}};
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_thawed(*make_sandbox(options))) << name << value;
  }
}

// A thousand sandboxes at most have one image, and the end of one in the midst of its start is no
// reason to have none.
TEST_P(PythonStarts, SurviveSandboxesThatEndMeanwhile) {
  (void)make_with_image();
  for (int i = 0; i < 20; ++i) {
    const auto sandbox = make_sandbox();
    sandbox->cancel();
    (void)sandbox->run_python("pass", {.timeout = std::chrono::milliseconds(1)});
  }
  (void)make_with_image();
}

CLOCHE_ON_EACH_ENGINE(PythonStarts);

}  // namespace
}  // namespace cloche::testing
