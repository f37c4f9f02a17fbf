// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/rate_limiter.h"

namespace cloche::rest {

RateLimiter::Verdict RateLimiter::count(const std::string& owner,
                                        std::chrono::system_clock::time_point now) {
  if (per_minute_ == 0) return {};
  constexpr std::int64_t window_s = 60;
  const std::int64_t now_s =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const MutexLock lock(mutex_);
  Window& window = windows_[owner];
  if (now_s >= window.start_s + window_s || now_s < window.start_s) window = {now_s, 0};
  Verdict verdict{.allowed = window.used < per_minute_,
                  .limit = per_minute_,
                  .remaining = 0,
                  .reset_s = window.start_s + window_s};
  if (verdict.allowed) ++window.used;
  verdict.remaining = per_minute_ - window.used;
  return verdict;
}

}  // namespace cloche::rest
