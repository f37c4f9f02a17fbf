// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_spawner.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/waiting_testing.h"

namespace cloche::mcp::mount {
namespace {

ToolServerConfig server(std::string name, std::vector<std::string> words) {
  ToolServerConfig config;
  config.name = std::move(name);
  config.words = std::move(words);
  return config;
}

// What it prints, until a line has come or it has ended.
std::string line_of(const ToolRun& run) {
  std::string line;
  for (char byte = 0; line.empty() || line.back() != '\n';) {
    pollfd wanted{run.output(), POLLIN, 0};
    if (::poll(&wanted, 1, 60'000) <= 0) return "silent: " + line;
    const ssize_t got = ::read(run.output(), &byte, 1);
    if (got == 0) break;
    if (got == 1) line += byte;
  }
  return line;
}

bool is_there(pid_t process) { return std::filesystem::exists("/proc/" + std::to_string(process)); }

// A program that says its number, and hears nothing: neither signals that it can hold back nor the
// end of its input.
const std::vector<std::string> stubborn{
    "/bin/sh", "-c", "trap '' HUP INT TERM; echo $$; while :; do sleep 60; done"};

TEST(ToolSpawner, StartsProgramsAndPassesTheirPipes) {
  ToolSpawner spawner({server("cat", {"cat"})});
  const ToolRun run = spawner.start(0);
  ASSERT_EQ(::write(run.input(), "hello\n", 6), 6);
  EXPECT_EQ(line_of(run), "hello\n");
}

TEST(ToolSpawner, NobodyElseHoldsAProgramsPipes) {
  ToolSpawner spawner({server("echo", {"echo", "hello"}), server("cat", {"cat"})});
  const ToolRun run = spawner.start(0);
  const ToolRun other = spawner.start(1);
  EXPECT_EQ(line_of(run), "hello\n");
  EXPECT_EQ(line_of(run), "");
}

TEST(ToolSpawner, SaysWhatCannotBeStarted) {
  ToolSpawner spawner({server("x", {"/no/such/program"}), server("cat", {"cat"})});
  try {
    (void)spawner.start(0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the tool server 'x' cannot be started: /no/such/program: "
                 "No such file or directory");
  }
  (void)spawner.start(1);
}

TEST(ToolSpawner, StartsWhatIsConfiguredAFewTimesAndNothingElse) {
  ToolSpawner spawner({server("cat", {"cat"})});
  EXPECT_THROW((void)spawner.start(1), std::out_of_range);
  std::optional<ToolRun> first = spawner.start(0);
  const ToolRun second = spawner.start(0);
  EXPECT_THROW((void)spawner.start(0), Error);
  first.reset();
  (void)spawner.start(0);
}

TEST(ToolSpawner, ARunThatEndsHasNoProgramAnyMore) {
  ToolSpawner spawner({server("stubborn", stubborn)});
  ToolRun run = spawner.start(0);
  const pid_t process = std::atoi(line_of(run).c_str());
  ASSERT_GT(process, 0);
  ASSERT_TRUE(is_there(process));
  run.end();
  EXPECT_FALSE(is_there(process));
  run.end();
}

TEST(ToolSpawner, ItsEndIsThatOfAllPrograms) {
  std::optional<ToolSpawner> spawner;
  spawner.emplace(std::vector{server("stubborn", stubborn)});
  const ToolRun run = spawner->start(0);
  const pid_t process = std::atoi(line_of(run).c_str());
  ASSERT_TRUE(is_there(process));
  spawner.reset();
  EXPECT_FALSE(is_there(process));
}

TEST(ToolSpawner, AProcessThatIsKilledLeavesNoProgram) {
  std::array<int, 2> said{};
  ASSERT_EQ(::pipe(said.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ToolSpawner spawner({server("stubborn", stubborn)});
    const ToolRun run = spawner.start(0);
    const pid_t process = std::atoi(line_of(run).c_str());
    (void)!::write(said[1], &process, sizeof process);
    (void)::raise(SIGKILL);
  }
  pid_t process = 0;
  ASSERT_EQ(::read(said[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(testing::within_a_minute([&] { return !is_there(process); }));
}

}  // namespace
}  // namespace cloche::mcp::mount
