// SPDX-License-Identifier: Apache-2.0
// RateLimiter: how many requests a minute an owner may make. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/mutex.h"

namespace cloche::rest {

class RateLimiter {
 public:
  // 0: any number.
  explicit RateLimiter(std::uint64_t per_minute) : per_minute_(per_minute) {}

  struct Verdict {
    bool allowed = true;
    std::uint64_t limit = 0;  // 0: there is none
    std::uint64_t remaining = 0;
    std::int64_t reset_s = 0;  // seconds since 1970 when there is a new minute's worth
  };
  // Counts one request of `owner`, who is one of a known few.
  Verdict count(const std::string& owner, std::chrono::system_clock::time_point now);

 private:
  struct Window {
    std::int64_t start_s = 0;
    std::uint64_t used = 0;
  };
  const std::uint64_t per_minute_;
  Mutex mutex_;
  std::unordered_map<std::string, Window> windows_ GUARDED_BY(mutex_);
};

}  // namespace cloche::rest
