// SPDX-License-Identifier: Apache-2.0
#include "net/resolver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace cloche::net {
namespace {

void wait_for_no_thread() {
  while (Resolver::threads() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(Resolver, OneThatIsIdleHasNoThread) {
  std::latch answered(1);
  Resolver resolver([](const std::string&) { return Resolver::Found{.exists = true}; });
  ASSERT_TRUE(resolver.ask("a.test", [&](const Resolver::Found& found) {
    EXPECT_TRUE(found.exists);
    answered.count_down();
  }));
  answered.wait();
  wait_for_no_thread();
  std::latch again(1);
  ASSERT_TRUE(resolver.ask("b.test", [&](const Resolver::Found&) { again.count_down(); }));
  again.wait();
}

// As where a guest asks for names whose servers do not answer.
TEST(Resolver, ThreadsOfAllAreBoundedAndEachHasOne) {
  constexpr std::size_t count = Resolver::few_threads / 4;
  std::latch end(1);
  std::atomic<std::size_t> waiting = 0, answered = 0;
  const auto hang = [&](const std::string&) {
    ++waiting;
    end.wait();
    return Resolver::Found();
  };
  std::vector<std::unique_ptr<Resolver>> resolvers;
  for (std::size_t i = 0; i < count; ++i) {
    resolvers.push_back(std::make_unique<Resolver>(hang));
    for (std::size_t query = 0; query < 2 * Resolver::max_threads; ++query)
      EXPECT_TRUE(resolvers.back()->ask("a.test", [&](const Resolver::Found&) { ++answered; }));
  }
  const std::size_t threads = Resolver::threads();
  EXPECT_LT(threads, Resolver::few_threads + count);
  while (waiting < threads) std::this_thread::yield();
  EXPECT_EQ(Resolver::threads(), threads);
  end.count_down();
  while (answered < 2 * count * Resolver::max_threads) std::this_thread::yield();
  resolvers.clear();
  wait_for_no_thread();
}

}  // namespace
}  // namespace cloche::net
