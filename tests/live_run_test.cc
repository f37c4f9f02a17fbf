// SPDX-License-Identifier: Apache-2.0
// Commands that one talks with: input as it comes, terminals, signals, ends.
#include <array>
#include <condition_variable>
#include <mutex>

#include "base/refused_threads_testing.h"
#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{20'000};

// What a LiveRun has shown, and waiting for it.
class Screen {
 public:
  OutputCallback callback() {
    return [this](Stream stream, std::string_view data) {
      const std::lock_guard lock(mutex_);
      (stream == Stream::out ? out_ : err_) += data;
      changed_.notify_all();
    };
  }
  // Waits until `text` has come after what the last call found.
  ::testing::AssertionResult shows(const std::string& text) {
    std::unique_lock lock(mutex_);
    std::size_t at = std::string::npos;
    const bool found = changed_.wait_for(lock, patience, [&] {
      at = out_.find(text, seen_);
      return at != std::string::npos;
    });
    if (!found) return ::testing::AssertionFailure() << "no '" << text << "' in: " << out_;
    seen_ = at + text.size();
    return ::testing::AssertionSuccess();
  }
  std::string out() {
    const std::lock_guard lock(mutex_);
    return out_;
  }
  std::string err() {
    const std::lock_guard lock(mutex_);
    return err_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string out_;
  std::string err_;
  std::size_t seen_ = 0;
};

TEST(LiveRun, InputComesWhileItRunsAndEnds) {
  const auto sandbox = make_sandbox();
  Screen screen;
  const auto live = sandbox->start(
      {.command = {.script = "while read -r x; do echo got $x; done; echo end >&2; exit 3",
                   .output = screen.callback()}});
  ASSERT_TRUE(live->write_all("one\n"));
  EXPECT_TRUE(screen.shows("got one\n"));
  EXPECT_FALSE(live->wait_for(milliseconds(0)));
  ASSERT_TRUE(live->write_all("two\n"));
  EXPECT_TRUE(screen.shows("got two\n"));
  live->close_input();
  const RunResult end = live->wait();
  EXPECT_EQ(end.status, RunStatus::exited);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(screen.err(), "end\n");
  EXPECT_EQ(live->write("three\n").error(), Errno::pipe);
}

TEST(LiveRun, ItIsBinarySafeAndHasFlowControl) {
  const auto sandbox = make_sandbox();
  std::string all;
  for (int i = 0; i < 1'000'000; ++i) all += static_cast<char>(i * 7 % 256);
  const auto live = sandbox->start({.command = {.script = "cat"}});
  ASSERT_TRUE(live->write_all(all));
  live->close_input();
  EXPECT_TRUE(live->wait().stdout_data == all);
}

TEST(LiveRun, AShortWriteIsToldOfRoom) {
  const auto sandbox = make_sandbox();
  std::mutex mutex;
  std::condition_variable changed;
  bool room = false;
  const auto live = sandbox->start({.command = {.script = "cat >/dev/null"}, .on_room = [&] {
                                      const std::lock_guard lock(mutex);
                                      room = true;
                                      changed.notify_all();
                                    }});
  const std::string much(3 << 20, 'x');  // more than there is ever room for
  const Result<std::size_t> taken = live->write(much);
  ASSERT_TRUE(taken);
  EXPECT_LT(*taken, much.size());
  ASSERT_TRUE(live->write("\n"));
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, patience, [&] { return room; }));
}

TEST(LiveRun, TheEndIsToldAfterTheOutput) {
  const auto sandbox = make_sandbox();
  std::string order;
  {
    const auto live = sandbox->start(
        {.command = {.script = "echo out; exit 9",
                     .output = [&](Stream, std::string_view data) { order += data; }},
         .on_end = [&](const RunResult& end) { order += std::to_string(end.exit_code); }});
    EXPECT_EQ(live->wait().exit_code, 9);
  }
  EXPECT_EQ(order, "out\n9");
}

TEST(LiveRun, ATerminalHasAnInteractiveShell) {
  const auto sandbox = make_sandbox();
  Screen screen;
  const auto live =
      sandbox->start({.command = {.output = screen.callback()}, .terminal = TerminalSize{30, 100}});
  EXPECT_TRUE(screen.shows("$ "));
  ASSERT_TRUE(live->write("tty; stty size; echo $TERM $-\r"));
  EXPECT_TRUE(screen.shows("/dev/pts/"));
  EXPECT_TRUE(screen.shows("30 100"));
  EXPECT_TRUE(screen.shows("xterm-256color h"));
  live->resize({50, 132});
  ASSERT_TRUE(live->write("stty size; echo $COLUMNS\r"));
  EXPECT_TRUE(screen.shows("50 132"));
  EXPECT_TRUE(screen.shows("132"));
  // Ctrl-C ends the job and not the shell.
  ASSERT_TRUE(live->write("bash -c 'echo before; sleep 100'\r"));
  EXPECT_TRUE(screen.shows("\rbefore\r\n"));
  ASSERT_TRUE(live->write("\x03"));
  EXPECT_TRUE(screen.shows("$ "));
  ASSERT_TRUE(live->write("echo status $?\r"));
  EXPECT_TRUE(screen.shows("status 130"));
  ASSERT_TRUE(live->write("exit 5\r"));
  EXPECT_EQ(live->wait().exit_code, 5);
}

// Whoever has the terminal when Ctrl-C comes (the shell, which is about to start the job, or the
// job that is about to become a program), the job ends, and the shell lives.
TEST(LiveRun, AnInterruptIsNotLostWhileAJobStarts) {
  const auto sandbox = make_sandbox();
  Screen screen;
  const auto live =
      sandbox->start({.command = {.output = screen.callback()}, .terminal = TerminalSize{}});
  EXPECT_TRUE(screen.shows("$ "));
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(live->write("sleep 1000\r"));
    ASSERT_TRUE(screen.shows("sleep 1000\r\n"));
    ASSERT_TRUE(live->write("\x03"));
    ASSERT_TRUE(screen.shows("$ "));
  }
  ASSERT_TRUE(live->write("exit 5\r"));
  EXPECT_EQ(live->wait().exit_code, 5);
}

TEST(LiveRun, AHungUpShellEnds) {
  const auto sandbox = make_sandbox();
  Screen screen;
  {
    const auto live =
        sandbox->start({.command = {.output = screen.callback()}, .terminal = TerminalSize{}});
    EXPECT_TRUE(screen.shows("$ "));
    ASSERT_TRUE(live->write("sleep 1000\r"));
    EXPECT_TRUE(screen.shows("sleep 1000"));
  }
  // The command is told of it at the same time as the shell, and may take longer to end.
  const RunResult gone = sandbox->run(
      {.script = "while ps -e | grep -q '[s]leep'; do read -t 0.01 <> <(:); done; echo gone"});
  EXPECT_EQ(gone.stdout_data, "gone\n") << gone.reason;
}

TEST(LiveRun, SignalsReachTheCommandAndItsChildren) {
  const auto sandbox = make_sandbox();
  Screen screen;
  const auto live = sandbox->start(
      {.command = {.script = "echo on; sleep 100; echo never", .output = screen.callback()}});
  EXPECT_TRUE(screen.shows("on\n"));
  EXPECT_EQ(live->signal(0).error(), Errno::inval);
  EXPECT_EQ(live->signal(99).error(), Errno::inval);
  ASSERT_TRUE(live->signal(15));
  const RunResult end = live->wait();
  EXPECT_EQ(end.status, RunStatus::signaled);
  EXPECT_EQ(end.exit_code, 143);
  EXPECT_EQ(live->signal(15).error(), Errno::srch);
}

TEST(LiveRun, KillAndTimeLimitAreTold) {
  const auto sandbox = make_sandbox();
  const auto endless = sandbox->start({.command = {.script = "while :; do :; done"}});
  endless->kill();
  EXPECT_EQ(endless->wait().status, RunStatus::killed);
  const auto limited = sandbox->start(
      {.command = {.script = "trap '' TERM; sleep 100", .timeout = milliseconds(50)}});
  EXPECT_EQ(limited->wait().status, RunStatus::timed_out);
  EXPECT_EQ(limited->wait().exit_code, 124);
}

TEST(LiveRun, WhatCannotStartHasEnded) {
  const auto sandbox = make_sandbox();
  const auto live = sandbox->start({.command = {.argv = {"nonesuch"}}});
  EXPECT_EQ(live->wait().status, RunStatus::not_started);
  EXPECT_EQ(live->wait().exit_code, 127);
  EXPECT_EQ(live->write("x").error(), Errno::pipe);
}

TEST(LiveRun, WithoutAThreadNothingIsStarted) {
  const auto sandbox = make_sandbox();
  bool has_ended = false;
  {
    const RefusedThreads none;
    EXPECT_THROW((void)sandbox->start({.command = {.script = "echo started > f; sleep 100"},
                                       .on_end = [&](const RunResult&) { has_ended = true; }}),
                 Error);
  }
  EXPECT_FALSE(has_ended);
  EXPECT_EQ(sandbox->run({.script = "ls; pgrep -c sleep"}).stdout_data, "0\n");
}

// What a command is given at its start comes before what is written to it, however slowly it reads.
TEST(LiveRun, HasTheInputOfItsStart) {
  const auto sandbox = make_sandbox();
  const std::string early(1 << 20, 'e');
  Screen screen, closed_screen;
  const auto live = sandbox->start(
      {.command = {
           .script = "sleep 0.1; wc -c", .stdin_data = early, .output = screen.callback()}});
  EXPECT_TRUE(live->write_all("late").ok());
  live->close_input();
  EXPECT_EQ(live->wait().exit_code, 0);
  EXPECT_EQ(screen.out(), std::to_string(early.size() + 4) + "\n");
  const auto closed = sandbox->start(
      {.command = {.script = "wc -c", .stdin_data = early, .output = closed_screen.callback()}});
  closed->close_input();
  EXPECT_EQ(closed->wait().exit_code, 0);
  EXPECT_EQ(closed_screen.out(), std::to_string(early.size()) + "\n");
}

TEST(LiveRun, AJobLeftBehindDoesNotHoldTheEnd) {
  const auto sandbox = make_sandbox();
  Screen screen;
  const auto live = sandbox->start(
      {.command = {.script = "(sleep 0.2; echo late) & echo now", .output = screen.callback()}});
  EXPECT_EQ(live->wait().exit_code, 0);
  EXPECT_EQ(screen.out(), "now\n");
  EXPECT_EQ(sandbox->run({.script = "sleep 0.4"}).exit_code, 0);
  EXPECT_EQ(screen.out(), "now\n");
}

}  // namespace
}  // namespace cloche::testing
