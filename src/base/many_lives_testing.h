// SPDX-License-Identifier: Apache-2.0
// Lives that end at random moments, on several threads, for stress tests of preemption.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace cloche {

// `some_lives` again and again on four threads, each with its own `random`, for so long as is usual
// or $CLOCHE_PREEMPTION_SECONDS says, or until the test has failed.
inline void live_many_times(std::chrono::milliseconds usual,
                            const std::function<void(std::minstd_rand& random)>& some_lives) {
  constexpr unsigned thread_count = 4;
  const char* const asked = std::getenv("CLOCHE_PREEMPTION_SECONDS");
  const auto until = std::chrono::steady_clock::now() +
                     (asked == nullptr ? usual : std::chrono::seconds(std::atoi(asked)));
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= thread_count; ++seed) {
    threads.emplace_back([&, seed] {
      std::minstd_rand random(seed);
      while (std::chrono::steady_clock::now() < until && !::testing::Test::HasFailure())
        some_lives(random);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cloche
