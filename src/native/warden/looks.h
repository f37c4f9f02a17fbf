// SPDX-License-Identifier: Apache-2.0
// How often pid 1 looks at the memory of its box: the less there is left, the oftener, but not all
// the time where a look takes long.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace cloche::warden::looks {

inline constexpr int shortest_ms = 10, longest_ms = 100;
// What nobody in the box has made grow, such as files that Cloche writes, is seen by then.
inline constexpr int longest_rest_ms = 1000;

inline std::int64_t now_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

inline std::int64_t computed_us() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

// Until the next look, after one that has computed so long: as if each processor took that much of
// what is left all the time.
inline int interval_ms(std::uint64_t rest_bytes, std::int64_t work_us) noexcept {
  constexpr std::uint64_t taken_in_a_ms = 8 << 20;
  constexpr std::int64_t rest_for_work = 4;
  static const long processors = std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L);
  const std::uint64_t lasts_ms =
      rest_bytes / (taken_in_a_ms * static_cast<std::uint64_t>(processors));
  const auto by_rest =
      static_cast<std::int64_t>(std::clamp<std::uint64_t>(lasts_ms, shortest_ms, longest_ms));
  return static_cast<int>(std::max(by_rest, rest_for_work * work_us / 1000));
}

// What processes compute at least to take so much: no processor fills new memory faster.
constexpr std::uint64_t least_ns(std::uint64_t rest_bytes) noexcept {
  constexpr std::uint64_t most_in_a_ns = 32;
  return rest_bytes / most_in_a_ns;
}

}  // namespace cloche::warden::looks
