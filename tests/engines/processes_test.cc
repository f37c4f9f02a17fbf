// SPDX-License-Identifier: Apache-2.0
// The list of processes, what they have computed, and signals for one of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <optional>
#include <string>

#include "cloche/live_run.h"
#include "cloche/observer.h"
#include "engines_testing.h"

namespace cloche::testing {
namespace {

class ProcessList : public OnEachEngine {
 protected:
  static std::optional<ProcessInfo> find(Sandbox& sandbox, int pid) {
    const std::vector<ProcessInfo> all = sandbox.processes();
    const auto found = std::ranges::find(all, pid, &ProcessInfo::pid);
    return found == all.end() ? std::nullopt : std::optional(*found);
  }
};

TEST_P(ProcessList, HasWhatRuns) {
  const auto sandbox = make_sandbox();
  EXPECT_TRUE(sandbox->processes().empty());
  std::promise<void> heard;
  LiveRunOptions options;
  options.command.argv = {"cat", "-", "a  b", ""};
  options.command.output = [&](Stream stream, std::string_view) {
    if (stream == Stream::out) heard.set_value();
  };
  const auto live = sandbox->start(std::move(options));
  ASSERT_TRUE(live->write_all("x\n").ok());
  heard.get_future().wait();
  const std::optional<ProcessInfo> found = find(*sandbox, live->pid());
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->command.starts_with("cat - a  b")) << found->command;
  EXPECT_GT(found->ppid, -1);
  EXPECT_NE(std::string("RST").find(found->state), std::string::npos);
  EXPECT_GT(found->memory_bytes, 0U);
  EXPECT_GE(found->age.count(), 0);
  live->close_input();
  (void)live->wait();
  EXPECT_FALSE(find(*sandbox, live->pid()).has_value());
}

TEST_P(ProcessList, ALongCommandIsCut) {
  const auto sandbox = make_sandbox();
  const auto live = sandbox->start({.command = {.argv = {"cat", "-", std::string(100'000, 'x')}}});
  const std::optional<ProcessInfo> found = find(*sandbox, live->pid());
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(found->command.size(), ProcessInfo::command_limit_bytes);
  live->kill();
}

TEST_P(ProcessList, OneOfItHearsASignal) {
  const auto sandbox = make_sandbox();
  const auto live = sandbox->start({.command = {.argv = {"cat"}}});
  const int pid = live->pid();
  EXPECT_EQ(sandbox->signal(pid, 0).error(), Errno::inval);
  EXPECT_EQ(sandbox->signal(pid, 65).error(), Errno::inval);
  EXPECT_EQ(sandbox->signal(pid + 1000, SIGTERM).error(), Errno::srch);
  ASSERT_TRUE(sandbox->signal(pid, SIGTERM).ok());
  const RunResult result = live->wait();
  EXPECT_EQ(result.status, RunStatus::signaled);
  EXPECT_EQ(result.signal, SIGTERM);
}

TEST_P(ProcessList, WhatEndedHasComputedToo) {
  const auto sandbox = make_sandbox();
  const auto before = sandbox->usage().cpu;
  ASSERT_EQ(sandbox->run({.script = "for ((i = 0; i < 200000; ++i)); do :; done"}).exit_code, 0);
  const auto after = sandbox->usage().cpu;
  EXPECT_GT((after - before).count(), 10'000'000);
  EXPECT_GE(sandbox->usage().cpu, after);
}

// The kernel's own part of the box is nobody's to see or to end.
TEST_P(ProcessList, ItsFirstIsNotInIt) {
  if (!is_linux()) return;
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox->files().write("/tmp/a", "x"));  // a file server
  EXPECT_TRUE(sandbox->processes().empty());
  for (int pid = -1; pid < 20; ++pid)
    EXPECT_EQ(sandbox->signal(pid, SIGKILL).error(), Errno::srch) << pid;
  EXPECT_EQ(sandbox->files().read("/tmp/a").value(), "x");
}

CLOCHE_ON_EACH_ENGINE(ProcessList);

}  // namespace
}  // namespace cloche::testing
