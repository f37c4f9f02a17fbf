// SPDX-License-Identifier: Apache-2.0
#include "base/thread_group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <system_error>
#include <thread>

#include "base/refused_threads_testing.h"

namespace cloche {
namespace {

// Counts threads whose objects are gone, a while after their work.
struct Last {
  std::atomic<int>* count = nullptr;
  ~Last() {
    if (!count) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++*count;
  }
};
thread_local Last last;

TEST(ThreadGroup, WaitsForTheObjectsOfItsThreadsToo) {
  std::atomic<int> gone = 0;
  {
    ThreadGroup group;
    for (int i = 0; i < 20; ++i) group.start([&] { last.count = &gone; });
  }
  EXPECT_EQ(gone, 20);
}

TEST(ThreadGroup, ThreadsThatHaveEndedAreNotKeptUntilTheEnd) {
  ThreadGroup group;
  std::atomic<int> gone = 0;
  for (int i = 0; i < 5; ++i) {
    std::latch done(1);
    group.start([&] {
      last.count = &gone;
      done.count_down();
    });
    done.wait();
  }
  // Whoever ends joins those before.
  while (gone < 4) std::this_thread::yield();
  group.wait();
  EXPECT_EQ(gone, 5);
}

TEST(ThreadGroup, AThreadMayStartAnother) {
  std::atomic<int> count = 0;
  ThreadGroup group;
  group.start([&] {
    ++count;
    group.start([&] { ++count; });
  });
  group.wait();
  EXPECT_EQ(count, 2);
  group.wait();
}

TEST(ThreadGroup, AThreadThatTheHostRefusesIsNotWaitedFor) {
  if (std::getenv("CLOCHE_SANITIZED") != nullptr) GTEST_SKIP() << "of a sanitizer";
  ThreadGroup group;
  {
    const RefusedThreads refused;
    EXPECT_THROW(group.start([] {}), std::system_error);
  }
  group.start([] {});
  group.wait();
}

}  // namespace
}  // namespace cloche
