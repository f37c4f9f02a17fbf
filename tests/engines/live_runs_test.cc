// SPDX-License-Identifier: Apache-2.0
// Commands that one talks with.
#include <gtest/gtest.h>

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

CLOCHE_ON_EACH_ENGINE(LiveRuns);

}  // namespace
}  // namespace cloche::testing
