// SPDX-License-Identifier: Apache-2.0
#include "session/worker_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/host_error.h"
#include "wasm/engine.h"
#include "wasm/guest_threads.h"

namespace cloche::session {
namespace {

// What `work` is asked to do, done by the pool.
template <typename Work>
auto ask(WorkerPool& pool, Work work) {
  auto promise = std::make_shared<std::promise<decltype(work())>>();
  auto answer = promise->get_future();
  pool.post([promise, work] { promise->set_value(work()); });
  return answer;
}

// While it lives, this process gets no more threads: none for which a stack is mapped, and those
// whose stack was one's before are taken.
class NoThreads {
 public:
  NoThreads() {
    (void)::getrlimit(RLIMIT_AS, &before_);
    rlimit none = before_;
    std::size_t pages = 0;  // that are mapped
    std::ifstream("/proc/self/statm") >> pages;
    none.rlim_cur = pages * 4096 + wasm::guest_thread_stack_bytes / 2;
    (void)::setrlimit(RLIMIT_AS, &none);
    while (takers_.run([end = is_over_] { end.wait(); })) continue;
  }
  ~NoThreads() {
    over_.set_value();
    (void)::setrlimit(RLIMIT_AS, &before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  rlimit before_{};
  std::promise<void> over_;
  const std::shared_future<void> is_over_ = over_.get_future().share();
  wasm::GuestThreads takers_{0};
};

TEST(WorkerPool, DoesAllWorkBeforeItIsGone) {
  std::atomic<int> done = 0;
  {
    WorkerPool pool(4);
    for (int i = 0; i < 100; ++i) pool.post([&] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

TEST(WorkerPool, DoesNothingOnTheThreadThatAsks) {
  WorkerPool pool(4);
  EXPECT_NE(ask(pool, [] { return std::this_thread::get_id(); }).get(), std::this_thread::get_id());
}

// Whoever posts may hold what the work wants.
TEST(WorkerPool, WithoutFurtherThreadsWorkWaitsForTheOneThatIsThere) {
  WorkerPool pool(4), other(4);
  std::promise<void> go_on;
  const std::shared_future<void> may_go_on = go_on.get_future().share();
  std::future<int> first;
  std::vector<std::future<std::thread::id>> more;
  {
    const NoThreads none;
    first = ask(pool, [may_go_on] {
      may_go_on.wait();
      return 1;
    });
    for (WorkerPool* const one : {&pool, &other, &pool, &other})
      more.push_back(ask(*one, [] { return std::this_thread::get_id(); }));
  }
  for (const std::future<std::thread::id>& one : more)
    EXPECT_EQ(one.wait_for(std::chrono::milliseconds(10)), std::future_status::timeout);
  go_on.set_value();
  EXPECT_EQ(first.get(), 1);
  std::set<std::thread::id> threads{std::this_thread::get_id()};
  for (std::future<std::thread::id>& one : more) threads.insert(one.get());
  EXPECT_EQ(threads.size(), 2U);  // this one, and that of them all
}

// Ann's callers have all places of those that work where they are, and she has more to do.
TEST(WorkerPool, OneOwnersCallersLeaveThreadsToOthers) {
  std::promise<void> go_on;
  const std::shared_future<void> may_go_on = go_on.get_future().share();
  std::atomic<int> begun = 0;
  std::vector<std::thread> callers;
  WorkerPool pool(4);
  const auto work = [&begun, may_go_on] {
    ++begun;
    may_go_on.wait();
  };
  for (int i = 0; i < 4; ++i) callers.emplace_back([&pool, work] { pool.do_here(work, "ann"); });
  while (begun < 4) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) pool.do_here(work, "ann");
  std::promise<void> of_bob;
  pool.do_here([&of_bob] { of_bob.set_value(); }, "bob");
  EXPECT_EQ(of_bob.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_LE(begun, 7);
  go_on.set_value();
  for (std::thread& caller : callers) caller.join();
}

TEST(WorkerPool, OneOwnersWorkLeavesThreadsToOthers) {
  WorkerPool pool(4);  // of which an owner has three
  std::promise<void> go_on;
  const std::shared_future<void> may_go_on = go_on.get_future().share();
  std::atomic<int> begun = 0, ended = 0;
  for (int i = 0; i < 10; ++i) {
    pool.post(
        [&, may_go_on] {
          ++begun;
          may_go_on.wait();
          ++ended;
        },
        "ann");
  }
  EXPECT_EQ(ask(pool, [] { return 1; }).get(), 1);
  std::promise<int> of_bob;
  pool.post([&] { of_bob.set_value(2); }, "bob");
  EXPECT_EQ(of_bob.get_future().get(), 2);
  EXPECT_LE(begun, 3);
  go_on.set_value();
  while (ended < 10) std::this_thread::yield();
}

TEST(WorkerPool, TheFirstIsNotMadeWithoutAThread) {
  {
    const NoThreads none;
    EXPECT_THROW(WorkerPool(1), HostError);
  }
  const WorkerPool first(1);
  const NoThreads none;
  WorkerPool second(1);
  EXPECT_EQ(ask(second, [] { return 1; }).get(), 1);
}

// A command that computes beside many others has its thread's priority lowered, for good.
TEST(WorkerPool, AThreadOfLowPriorityIsNobodyElses) {
  WorkerPool pool(1);
  const auto priority = [] { return ::getpriority(PRIO_PROCESS, 0); };
  const int usual = ask(pool, priority).get();
  for (int i = 0; i < 3; ++i) {
    const int lowered = ask(pool, [priority] {
                          wasm::GuestThreads::lower_priority(5);
                          return priority();
                        }).get();
    EXPECT_GT(lowered, usual);
    EXPECT_EQ(ask(pool, priority).get(), usual);
  }
}

}  // namespace
}  // namespace cloche::session
