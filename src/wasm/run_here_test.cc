#include "wasm/run_here.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

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

TEST(RunHere, RunsOnTheThreadThatOfferedItself) {
  GuestThreads workers;
  GuestThreads guests;
  const bool same = on(workers, [&] {
    RunHere::offer_this_thread();
    std::thread::id ran;
    RunHere here;
    EXPECT_TRUE(guests.run([&] { ran = std::this_thread::get_id(); }));
    EXPECT_TRUE(here.caught());
    EXPECT_EQ(ran, std::thread::id());
    here.run();
    EXPECT_FALSE(here.caught());
    return ran == std::this_thread::get_id();
  });
  EXPECT_TRUE(same);
  EXPECT_EQ(guests.thread_count(), 0u);
}

TEST(RunHere, CatchesOneWorkAndNothingWithinIt) {
  GuestThreads workers;
  GuestThreads guests;
  const int elsewhere = on(workers, [&] {
    RunHere::offer_this_thread();
    const std::thread::id self = std::this_thread::get_id();
    std::promise<std::thread::id> second;
    std::promise<std::thread::id> nested;
    RunHere here;
    EXPECT_TRUE(guests.run([&] {
      RunHere within;
      EXPECT_TRUE(guests.run([&] { nested.set_value(std::this_thread::get_id()); }));
      EXPECT_FALSE(within.caught());
    }));
    EXPECT_TRUE(guests.run([&] { second.set_value(std::this_thread::get_id()); }));
    here.run();
    return int{second.get_future().get() != self} + int{nested.get_future().get() != self};
  });
  EXPECT_EQ(elsewhere, 2);
}

TEST(RunHere, OtherThreadsAreLeftAlone) {
  GuestThreads guests;
  const RunHere here;
  std::promise<std::thread::id> ran;
  EXPECT_TRUE(guests.run([&] { ran.set_value(std::this_thread::get_id()); }));
  EXPECT_FALSE(here.caught());
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

}  // namespace
}  // namespace cloche::wasm
