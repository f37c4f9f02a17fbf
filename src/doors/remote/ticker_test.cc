// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/ticker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace cloche::remote {
namespace {

using namespace std::chrono_literals;

TEST(Ticker, CallsAtOnceAndAgain) {
  Ticker ticker;
  std::atomic<int> calls = 0;
  std::promise<void> thrice;
  const Ticker::Id id = ticker.add(1ms, [&] {
    if (++calls == 3) thrice.set_value();
  });
  thrice.get_future().wait();
  ticker.remove(id);
  ticker.remove(id);  // once more is nothing
}

TEST(Ticker, AnIntervalThatIsNotOverIsWaitedFor) {
  Ticker ticker;
  std::atomic<int> rare = 0;
  std::atomic<int> often = 0;
  std::promise<void> enough;
  (void)ticker.add(24h, [&] { ++rare; });
  (void)ticker.add(1ms, [&] {
    if (++often == 5) enough.set_value();
  });
  enough.get_future().wait();
  EXPECT_EQ(rare, 1);
}

TEST(Ticker, RemovingWaitsForACallThatIsInProgress) {
  Ticker ticker;
  std::promise<void> begun;
  std::promise<void> go_on;
  std::atomic<int> calls = 0;
  const Ticker::Id id = ticker.add(24h, [&] {
    begun.set_value();
    go_on.get_future().wait();
    ++calls;
  });
  begun.get_future().wait();
  std::thread helper([&] { go_on.set_value(); });
  ticker.remove(id);
  EXPECT_EQ(calls, 1);
  helper.join();
}

}  // namespace
}  // namespace cloche::remote
