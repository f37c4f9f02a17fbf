// SPDX-License-Identifier: Apache-2.0
// Commands that one talks with.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>
#include <string>

#include "cloche/live_run.h"
#include "engines_testing.h"

namespace cloche::testing {
namespace {

class LiveRuns : public OnEachEngine {};

// A door says the number before anything else, and holds what comes until it has.
TEST_P(LiveRuns, OutputThatWaitsDoesNotHoldUpTheNumber) {
  const auto sandbox = make_sandbox();
  for (int turn = 0; turn < 50; ++turn) {
    std::mutex mutex;
    std::string written;
    LiveRunOptions options;
    options.command.script = "echo first; echo second >&2";
    options.command.output = [&](Stream, std::string_view data) {
      const std::lock_guard lock(mutex);
      written += data;
    };
    std::unique_lock lock(mutex);
    const auto live = sandbox->start(std::move(options));
    EXPECT_GT(live->pid(), 0);
    EXPECT_EQ(written, "");
    lock.unlock();
    EXPECT_EQ(live->wait().exit_code, 0);
    EXPECT_EQ(written.size(), std::string("first\nsecond\n").size());
  }
}

// As a client does whose window changes while its shell starts.
TEST_P(LiveRuns, ATerminalHasTheSizeThatItGetsAtOnce) {
  const auto sandbox = make_sandbox();
  for (int turn = 0; turn < 50; ++turn) {
    std::string shown;
    LiveRunOptions options;
    options.terminal = TerminalSize{.rows = 24, .columns = 80};
    options.command.script =
        "for n in {1..300}; do [ \"$(stty size)\" = '44 88' ] && break; sleep 0.01; done; stty "
        "size";
    options.command.output = [&](Stream, std::string_view data) { shown += data; };
    const auto live = sandbox->start(std::move(options));
    live->resize({.rows = 44, .columns = 88});
    (void)live->wait();
    ASSERT_EQ(shown, "44 88\r\n");
  }
}

// A terminal takes some KiB that nobody reads; its end comes behind them, and nobody waits for that.
TEST_P(LiveRuns, TheEndOfATerminalsInputWaitsForRoomAlone) {
  const auto sandbox = make_sandbox();
  std::promise<void> ready;
  std::string shown;
  LiveRunOptions options;
  options.terminal = TerminalSize{};
  options.command.script =
      "stty raw -echo; echo ready; until [ -s /tmp/bytes ]; do sleep 0.01; done; "
      "head -c $(cat /tmp/bytes) | tail -c 3 | cat -v";
  options.command.output = [&](Stream, std::string_view data) {
    if (shown.empty()) ready.set_value();
    shown += data;
  };
  const auto live = sandbox->start(std::move(options));
  ready.get_future().wait();
  std::size_t taken = 0;
  for (std::size_t last = 1; last > 0; taken += last) last = *live->write(std::string(512, 'x'));
  EXPECT_GT(taken, 512U);
  auto closed = std::async(std::launch::async, [&live] { live->close_input(); });
  EXPECT_EQ(closed.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  ASSERT_TRUE(sandbox->files().write("/tmp/bytes", std::to_string(taken + 1)).ok());
  EXPECT_EQ(live->wait().exit_code, 0);
  EXPECT_NE(shown.find("xx^D"), std::string::npos) << shown;
}

CLOCHE_ON_EACH_ENGINE(LiveRuns);

}  // namespace
}  // namespace cloche::testing
