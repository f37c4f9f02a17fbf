// SPDX-License-Identifier: Apache-2.0
#include "doors/http/loops.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <future>
#include <latch>
#include <thread>

namespace cloche::http {
namespace {

namespace asio = boost::asio;

TEST(LoopsTest, AHandlerThatWaitsDoesNotHoldUpItsLoop) {
  Loops loops(1);
  loops.start();
  std::promise<void> other;
  std::promise<bool> kept;
  asio::post(loops[0].context(), [&] {
    Loop::Turn turn(loops[0]);
    other.get_future().wait();  // what only another handler of this loop does
    kept.set_value(turn.finish());
  });
  asio::post(loops[0].context(), [&] { other.set_value(); });
  EXPECT_FALSE(kept.get_future().get());
}

TEST(LoopsTest, WhatALostHandlerStartsIsDoneByTheNewDriver) {
  Loops loops(1);
  loops.start();
  std::promise<void> other;
  std::promise<std::thread::id> first;
  std::promise<std::thread::id> later;
  asio::post(loops[0].context(), [&] {
    Loop::Turn turn(loops[0]);
    other.get_future().wait();
    first.set_value(std::this_thread::get_id());
    (void)turn.finish();
    asio::post(loops[0].context(), [&] { later.set_value(std::this_thread::get_id()); });
  });
  asio::post(loops[0].context(), [&] { other.set_value(); });
  EXPECT_NE(later.get_future().get(), first.get_future().get());
}

TEST(LoopsTest, AsManyTurnsWaitAtOnceAsThereAre) {
  constexpr int count = 20;
  Loops loops(2);
  loops.start();
  std::latch all(count);
  std::latch done(count);
  for (int i = 0; i < count; ++i) {
    Loop& loop = loops[static_cast<std::size_t>(i) % 2];
    asio::post(loop.context(), [&] {
      Loop::Turn turn(loop);
      all.arrive_and_wait();
      done.count_down();
    });
  }
  done.wait();
  EXPECT_GE(loops.threads(), 2U);
}

TEST(LoopsTest, ALoopServesAfterThousandsOfShortTurns) {
  constexpr int count = 5000;
  Loops loops(1);
  loops.start();
  std::latch done(count);
  int sum = 0;  // the loop's
  for (int i = 0; i < count; ++i) {
    asio::post(loops[0].context(), [&] {
      ++sum;
      {
        Loop::Turn turn(loops[0]);
      }
      done.count_down();
    });
  }
  done.wait();
  std::promise<int> result;
  asio::post(loops[0].context(), [&] { result.set_value(sum); });
  EXPECT_EQ(result.get_future().get(), count);
}

TEST(LoopsTest, TheEndWaitsForHandlers) {
  std::atomic<bool> finished = false;
  {
    Loops loops(1);
    loops.start();
    std::promise<void> began;
    asio::post(loops[0].context(), [&] {
      Loop::Turn turn(loops[0]);
      began.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      finished = true;
    });
    began.get_future().wait();
  }
  EXPECT_TRUE(finished);
}

}  // namespace
}  // namespace cloche::http
