// SPDX-License-Identifier: Apache-2.0
// A time limit that the host was told, as a deadline. What kills at it: host/job_deadline.h.
#pragma once

#include <algorithm>
#include <chrono>

#include "kernel/time/wait_queue.h"

namespace cloche::kernel {

// One beyond it is as long as this: no moment overflows.
inline constexpr std::chrono::milliseconds longest_time_limit = std::chrono::years(10);

// None for 0 and less.
inline Deadline deadline_after(SteadyTime start, std::chrono::milliseconds limit) {
  if (limit.count() <= 0) return std::nullopt;
  return start + std::min(limit, longest_time_limit);
}

inline Deadline deadline_after(std::chrono::milliseconds limit) {
  return deadline_after(std::chrono::steady_clock::now(), limit);
}

}  // namespace cloche::kernel
