// SPDX-License-Identifier: Apache-2.0
#include "wasm/run_here.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "wasm/engine.h"
#include "wasm/guest_stack.h"
#include "wasm/guest_threads.h"

namespace cloche::wasm {
namespace {

// What `body` returns on a thread of `threads`.
template <typename Body>
auto on(GuestThreads& threads, Body body) {
  std::promise<decltype(body())> result;
  EXPECT_TRUE(threads.run([&] { result.set_value(body()); }));
  return result.get_future().get();
}

// What a thread finds out where it runs work of its own.
struct Found {
  bool here = false;
  std::size_t stack_bytes = 0;
};

Found run_here(GuestThreads& guests) {
  Found found;
  std::thread::id ran;
  RunHere here;
  EXPECT_TRUE(guests.run(
      [&] {
        ran = std::this_thread::get_id();
        found.stack_bytes = stack_left_bytes();
      },
      &here));
  EXPECT_TRUE(here.caught());
  EXPECT_EQ(ran, std::thread::id());
  here.run();
  EXPECT_FALSE(here.caught());
  found.here = ran == std::this_thread::get_id();
  return found;
}

// ThreadSanitizer takes two stacks for two threads: with it nothing runs here.
#if !defined(__SANITIZE_THREAD__)

TEST(RunHere, RunsOnTheCallingThreadWithAGuestsStack) {
  GuestThreads guests;
  const std::size_t own = stack_left_bytes();
  for (int i = 0; i < 3; ++i) {
    const Found found = run_here(guests);
    EXPECT_TRUE(found.here);
    EXPECT_GT(found.stack_bytes, max_guest_stack_bytes);
  }
  EXPECT_EQ(stack_left_bytes(), own);
  EXPECT_EQ(guests.thread_count(), 0u);
}

TEST(RunHere, EveryThreadHasAStackOfItsOwn) {
  GuestThreads guests;
  constexpr int count = 8;
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      volatile int mine = 0;
      RunHere here;
      EXPECT_TRUE(guests.run(
          [&] {
            ++inside;
            while (inside < count) std::this_thread::yield();
            mine = 1;
          },
          &here));
      here.run();
      EXPECT_EQ(mine, 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(guests.thread_count(), 0u);
}

TEST(RunHere, RunsNothingWhereTheThreadHasGivenItsStackBack) {
  GuestThreads guests;
  bool caught = true;
  struct Late {
    GuestThreads& guests;
    bool& caught;
    ~Late() {
      RunHere here;
      EXPECT_TRUE(guests.run([] {}, &here));
      caught = here.caught();
    }
  };
  std::thread([&] {
    // Made before the stack, and so destroyed after it.
    thread_local Late late{guests, caught};
    (void)late;
    EXPECT_TRUE(run_here(guests).here);
  }).join();
  EXPECT_FALSE(caught);
}

TEST(RunHere, AThreadOfGuestsKeepsToItsStack) {
  GuestThreads workers;
  GuestThreads guests;
  const bool same = on(workers, [&] {
    const std::size_t own = stack_left_bytes();
    const Found found = run_here(guests);
    return found.here && own - found.stack_bytes < 4096;
  });
  EXPECT_TRUE(same);
  EXPECT_EQ(guests.thread_count(), 0u);
}

TEST(RunHere, CatchesOneWorkAndNothingWithinIt) {
  GuestThreads workers;
  GuestThreads guests;
  const int elsewhere = on(workers, [&] {
    const std::thread::id self = std::this_thread::get_id();
    std::promise<std::thread::id> second;
    std::promise<std::thread::id> nested;
    RunHere here;
    EXPECT_TRUE(guests.run(
        [&] {
          RunHere within;
          EXPECT_TRUE(guests.run([&] { nested.set_value(std::this_thread::get_id()); }, &within));
          EXPECT_FALSE(within.caught());
        },
        &here));
    EXPECT_TRUE(guests.run([&] { second.set_value(std::this_thread::get_id()); }, &here));
    here.run();
    return int{second.get_future().get() != self} + int{nested.get_future().get() != self};
  });
  EXPECT_EQ(elsewhere, 2);
}

#endif

TEST(RunHere, WorkThatIsNotOfferedToItIsNotCaught) {
  GuestThreads guests;
  RunHere here;
  std::promise<std::thread::id> ran;
  EXPECT_TRUE(guests.run([&] { ran.set_value(std::this_thread::get_id()); }));
  EXPECT_FALSE(here.caught());
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

}  // namespace
}  // namespace cloche::wasm
