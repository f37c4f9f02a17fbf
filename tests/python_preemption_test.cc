// SPDX-License-Identifier: Apache-2.0
// Python that computes is stopped at once, wherever it computes: its code has no checks, signals to
// its thread stop it (src/wasm/preemption.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "base/many_lives_testing.h"
#include "sandbox_testing.h"

namespace cloche {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::make_sandbox;

// What computes long, each in another part of the interpreter.
constexpr std::array computing{
    "while True: pass",
    "def f(n):\n    while True: n = n * 3 % 1000003\nf(7)",
    "10 ** 10 ** 8",
    "sum(range(10 ** 12))",
    "import re; re.match('(a*)*b', 'a' * 40)",
    "[str(i) for i in range(10 ** 9)]",
    "x = list(range(2 * 10 ** 6))\nwhile True: x = sorted(x, key=lambda v: v * 7919 % 1000003)",
    "import hashlib\nd = b'x' * 10 ** 7\nwhile True: hashlib.sha256(d).digest()",
    "import zlib\nd = bytes(range(256)) * 40000\nwhile True: zlib.compress(d, 9)",
    "d = bytearray(10 ** 8)\nwhile True: d[:] = bytes(d)",
    "while True: 'abc' * 10 ** 7",
    "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(60)",
    "while True:\n    try: raise ValueError\n    except ValueError: pass",
    "x = []\nwhile True:\n    try: x.append(bytearray(10 ** 6))\n    except MemoryError: x.clear()",
    "import json\nt = json.dumps(list(range(10 ** 5)))\nwhile True: json.loads(t)",
    "import threading\nts = [threading.Thread(target=lambda: [0 for _ in iter(int, 1)]) for _ in "
    "range(3)]\n[t.start() for t in ts]\n[t.join() for t in ts]",
    "import signal\nsignal.signal(signal.SIGTERM, lambda *a: None)\nwhile True: pass",
    "import os\nwhile True: os.getpid()",
    "import subprocess\nwhile True: subprocess.run(['true'])",
};

std::string command(std::string_view code) {
  std::string quoted = "python3 -c '";
  for (const char c : code) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

class ComputingPython : public ::testing::TestWithParam<const char*> {};

TEST_P(ComputingPython, IsStoppedByTheTimeLimit) {
  const auto sandbox = make_sandbox();
  ASSERT_EQ(sandbox->run({.script = "python3 -c 'print(1)'"}).stdout_data, "1\n");
  const auto start = steady_clock::now();
  const RunResult result =
      sandbox->run({.script = command(GetParam()), .timeout = milliseconds(300)});
  const auto took = steady_clock::now() - start;
  EXPECT_EQ(result.status, RunStatus::timed_out) << result.stderr_data;
  EXPECT_LT(took, std::chrono::seconds(5));
  RecordProperty("overshoot_ms",
                 static_cast<int>(std::chrono::duration_cast<milliseconds>(took).count() - 300));
  EXPECT_EQ(sandbox->run({.script = "python3 -c 'print(6 * 7)'"}).stdout_data, "42\n");
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ComputingPython, ::testing::ValuesIn(computing));

TEST(PythonPreemption, SignalsReachPythonThatComputes) {
  EXPECT_EQ(testing::output_of("cat > p.py <<'E'\n"
                               "import signal\n"
                               "class Stop(Exception): pass\n"
                               "def stop(*a): raise Stop\n"
                               "signal.signal(signal.SIGUSR1, stop)\n"
                               "try:\n"
                               "    print('ready', flush=True)\n"
                               "    while True: pass\n"
                               "except Stop: print('stopped')\n"
                               "E\n"
                               "mkfifo f; python3 p.py > f & p=$!; exec 3< f; read line <&3\n"
                               "kill -USR1 $p; cat <&3; wait $p; echo $?"),
            "stopped\n0\n");
}

TEST(PythonPreemption, PythonThatComputesStopsAndGoesOn) {
  EXPECT_EQ(testing::output_of("python3 -c 'import os, time\n"
                               "print(\"ready\", flush=True)\n"
                               "t = time.monotonic() + 0.4\n"
                               "while time.monotonic() < t: sum(range(1000))\n"
                               "print(\"done\")' > out & p=$!\n"
                               "while ! grep -qs ready out; do :; done\n"
                               "kill -STOP $p; sleep 0.1; kill -CONT $p; wait $p; cat out"),
            "ready\ndone\n");
}

// Lives of each sort end at random moments, by the time limit, a kill from beside, the end of their
// sandbox; the next ones are well. CLOCHE_PREEMPTION_SECONDS makes it longer.
TEST(PythonPreemption, ManyLivesEndAtRandomMoments) {
  std::atomic<int> lives = 0;
  std::atomic<std::int64_t> worst_ms = 0;
  live_many_times(std::chrono::seconds(3), [&](std::minstd_rand& random) {
    auto sandbox = make_sandbox();
    for (int i = 0; i < 4; ++i) {
      const auto limit = milliseconds(5 + random() % 150);
      const std::string code = command(computing[random() % computing.size()]);
      const bool killed = random() % 3 == 0;
      const auto start = steady_clock::now();
      const RunResult result =
          sandbox->run({.script = killed ? code + " & sleep 0.0" + std::to_string(random() % 90) +
                                               "; kill -9 $!; wait $!; echo $?"
                                         : code,
                        .timeout = killed ? milliseconds(20'000) : limit});
      const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
      if (killed) {
        EXPECT_EQ(result.stdout_data, "137\n") << code << result.reason;
      } else {
        EXPECT_EQ(result.status, RunStatus::timed_out) << code << result.stderr_data;
        worst_ms = std::max<std::int64_t>(worst_ms, (took - limit).count());
      }
      ++lives;
    }
    const RunResult clean = sandbox->run(
        {.script = "python3 -c 'import json, hashlib, zlib, re\n"
                   "print(hashlib.sha256(zlib.compress(json.dumps(list(range(5000))).encode()"
                   ")).hexdigest()[:16], sum(range(10 ** 5)), re.sub(\"a+\", \"b\", \"caat\"))'"});
    EXPECT_EQ(clean.exit_code, 0) << clean.stderr_data << clean.reason;
    EXPECT_THAT(clean.stdout_data, ::testing::EndsWith(" 4999950000 cbt\n"));
  });
  RecordProperty("lives", lives);
  RecordProperty("worst_overshoot_ms", static_cast<int>(worst_ms));
  EXPECT_GE(lives, 4);
}

}  // namespace
}  // namespace cloche
