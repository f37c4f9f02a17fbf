// SPDX-License-Identifier: Apache-2.0
#include "wasm/guest_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "base/refused_threads_testing.h"
#include "wasm/engine.h"

namespace cloche::wasm {
namespace {

template <typename Body>
auto run_and_wait(GuestThreads& threads, Body body) {
  std::promise<decltype(body())> promise;
  EXPECT_TRUE(threads.run([&] { promise.set_value(body()); }));
  return promise.get_future().get();
}

void wait_for_idle(const GuestThreads& threads, std::size_t count) {
  while (threads.idle_count() != count) std::this_thread::yield();
}

TEST(GuestThreads, HaveTheStackThatGuestsNeed) {
  GuestThreads threads;
  const auto bytes = run_and_wait(threads, [] {
    pthread_attr_t attributes;
    std::size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
    return size;
  });
  EXPECT_GE(bytes, guest_thread_stack_bytes);
}

TEST(GuestThreads, AreUsedAgain) {
  GuestThreads threads;
  std::set<std::thread::id> ids;
  for (int i = 0; i < 20; ++i) {
    ids.insert(run_and_wait(threads, [] { return std::this_thread::get_id(); }));
    wait_for_idle(threads, 1);
  }
  EXPECT_EQ(ids.size(), 1U);
}

TEST(GuestThreads, RunAsManyAsAreAskedForAtOnceAndKeepFew) {
  constexpr int count = 50;
  GuestThreads threads(3);
  std::atomic<int> running = 0, ended = 0;
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(threads.run([&, gone] {
      ++running;
      gone.wait();
      ++ended;
    }));
  }
  while (running < count) std::this_thread::yield();
  EXPECT_EQ(threads.thread_count(), static_cast<std::size_t>(count));
  go.set_value();
  while (threads.thread_count() > 3) std::this_thread::yield();
  EXPECT_EQ(ended, count);
  EXPECT_LE(threads.idle_count(), 3U);
}

TEST(GuestThreads, WorkMayStartWork) {
  std::atomic<int> done = 0;
  {
    GuestThreads threads(1);
    std::function<void(int)> spawn = [&](int depth) {
      ++done;
      if (depth == 0) return;
      ASSERT_TRUE(threads.run([&spawn, depth] { spawn(depth - 1); }));
    };
    ASSERT_TRUE(threads.run([&] { spawn(30); }));
    while (done < 31) std::this_thread::yield();
  }
  EXPECT_EQ(done, 31);
}

TEST(GuestThreads, TheEndWaitsForAllWork) {
  std::atomic<bool> finished = false;
  {
    GuestThreads threads;
    std::promise<void> started;
    ASSERT_TRUE(threads.run([&] {
      started.set_value();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      finished = true;
    }));
    started.get_future().wait();
  }
  EXPECT_TRUE(finished);
}

TEST(GuestThreads, TakeNoSignalsOfTheProcess) {
  GuestThreads threads;
  const bool blocked = run_and_wait(threads, [] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGCHLD) == 1 &&
           sigismember(&mask, SIGSEGV) == 0;
  });
  EXPECT_TRUE(blocked);
}

#if !defined(CLOCHE_SANITIZED)

TEST(GuestThreads, WorkThatTheHostHasNoThreadForIsRefusedAndNotDone) {
  GuestThreads threads;
  std::atomic<bool> done = false;
  {
    const RefusedThreads refused;
    EXPECT_EQ(threads.run([&] { done = true; }).error(), Errno::again);
  }
  EXPECT_EQ(threads.thread_count(), 0U);
  EXPECT_TRUE(run_and_wait(threads, [] { return true; }));
  EXPECT_FALSE(done);
  wait_for_idle(threads, 1);
  const RefusedThreads refused;  // the one that is idle serves
  EXPECT_TRUE(run_and_wait(threads, [] { return true; }));
}

#endif

}  // namespace
}  // namespace cloche::wasm
