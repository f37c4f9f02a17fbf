// SPDX-License-Identifier: Apache-2.0
// Limits: each is reached on purpose, ends in a clear result, and leaves the sandbox usable.
#include <thread>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;

void expect_usable(Sandbox& sandbox) {
  EXPECT_EQ(sandbox.run({.script = "echo alive | cat"}).stdout_data, "alive\n");
  EXPECT_EQ(sandbox.figures().processes, 0u);
}

class TimeLimit : public ::testing::TestWithParam<const char*> {};

TEST_P(TimeLimit, EndsTheWholeTree) {
  const auto sandbox = make_sandbox();
  const RunResult result = sandbox->run({.script = GetParam(), .timeout = milliseconds(150)});
  EXPECT_EQ(result.status, RunStatus::timed_out);
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_NE(result.reason.find("150 ms"), std::string::npos);
  expect_usable(*sandbox);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, TimeLimit,
                         ::testing::Values("while :; do :; done", "sleep 1000",
                                           "cat /dev/zero | sleep 1000", "mkfifo f; cat f",
                                           "sleep 1000 | sleep 1000 & wait",
                                           "trap '' TERM INT HUP; while :; do sleep 1; done",
                                           "yes > /dev/null", "(setsid sleep 1000 &) ; sleep 1000",
                                           "python3 -c 'while True: pass'", "kill -STOP $$"));

TEST(Limits, OutputBeforeTheTimeLimitIsKept) {
  const RunResult result =
      make_sandbox()->run({.script = "echo before; sleep 100", .timeout = milliseconds(300)});
  EXPECT_EQ(result.stdout_data, "before\n");
}

TEST(Limits, CapturedOutputIsBounded) {
  const auto sandbox = make_sandbox();
  const RunResult result =
      sandbox->run({.script = "head -c 5000000 /dev/zero", .output_limit_bytes = 1000});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.stdout_data.size(), 1000u);
  EXPECT_TRUE(result.stdout_truncated);
  EXPECT_FALSE(result.stderr_truncated);
}

TEST(Limits, FilesEndAtTheQuotaAndSpaceComesBack) {
  const auto sandbox = make_sandbox({.file_limit_bytes = 1 << 20});
  const RunResult full = sandbox->run({.script = "head -c 3000000 /dev/zero > big"});
  EXPECT_NE(full.exit_code, 0);
  EXPECT_NE(full.stderr_data.find("No space left on device"), std::string::npos);
  EXPECT_LE(sandbox->figures().file_bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(sandbox->run({.script = "rm big; head -c 900000 /dev/zero > next"}).exit_code, 0);
  EXPECT_EQ(sandbox->files().write("more", std::string(200'000, 'x')).error(), Errno::nospc);
  expect_usable(*sandbox);
}

TEST(Limits, InodesAreCounted) {
  const auto sandbox = make_sandbox({.file_limit_inodes = 50});
  const RunResult result =
      sandbox->run({.script = "for i in $(seq 100); do : > f$i || exit 3; done"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_LE(sandbox->figures().file_inodes, 50u);
  expect_usable(*sandbox);
}

TEST(Limits, ProcessesAreBounded) {
  const auto sandbox = make_sandbox({.process_limit = 16});
  const RunResult bomb = sandbox->run(
      {.script = "f() { f | f & }; f; sleep 0.2; exit 0", .timeout = milliseconds(3000)});
  sandbox->cancel();
  EXPECT_NE(bomb.stderr_data.find("Resource temporarily unavailable"), std::string::npos);
  expect_usable(*sandbox);
}

TEST(Limits, MemoryIsBounded) {
  const auto sandbox = make_sandbox({.memory_limit_bytes = 160 << 20});
  const RunResult result =
      sandbox->run({.script = "python3 -c 'x = bytearray(400 << 20)'; echo $?"});
  EXPECT_NE(result.stderr_data.find("MemoryError"), std::string::npos) << result.stdout_data;
  expect_usable(*sandbox);
}

TEST(Limits, DeepRecursionIsAnError) {
  const auto sandbox = make_sandbox();
  const RunResult shell = sandbox->run({.script = "f() { f; }; f"});
  EXPECT_NE(shell.exit_code, 0);
  const RunResult python = sandbox->run({.script = "python3 -c 'def f(): f()\nf()'"});
  EXPECT_NE(python.stderr_data.find("RecursionError"), std::string::npos);
  expect_usable(*sandbox);
}

TEST(Limits, DescriptorsAreBounded) {
  const auto sandbox = make_sandbox({.open_file_limit = 32});
  const RunResult result =
      sandbox->run({.script = "for i in $(seq 100); do exec {fd}</dev/null || exit 5; done"});
  EXPECT_NE(result.exit_code, 0);
  expect_usable(*sandbox);
}

TEST(Limits, CancelEndsEveryRun) {
  const auto sandbox = make_sandbox();
  std::thread canceller([&] {
    while (sandbox->figures().processes == 0) std::this_thread::yield();
    sandbox->cancel();
  });
  const RunResult result = sandbox->run({.script = "sleep 1000"});
  canceller.join();
  EXPECT_EQ(result.status, RunStatus::killed);
  EXPECT_EQ(result.exit_code, 137);
  expect_usable(*sandbox);
}

}  // namespace
}  // namespace cloche::testing
