// SPDX-License-Identifier: Apache-2.0
// Watches of epoll. The kernel has a number of them for all processes of a user of the machine,
// which are those of all boxes, and Cloche too where the user is nobody else: a box that took them
// all would leave no server a connection.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>

namespace cloche::warden {

// Of a box; that many, or two for each file that a process may have open.
inline constexpr std::uint64_t most_epoll_watches = 32'768;

// Those of all that a process has open, in whatever thread; a descriptor of epoll counts as a few.
// Of one that has many descriptors of epoll some are looked at, by chance, and stand for all.
std::uint64_t epoll_watches_of(pid_t pid) noexcept;

// Until the next look, after one that has computed so long.
constexpr std::int64_t epoll_interval_ms(std::int64_t work_us) noexcept {
  constexpr std::int64_t rest_for_work = 50, shortest_ms = 100, longest_ms = 1000;
  return std::clamp(rest_for_work * work_us / 1000, shortest_ms, longest_ms);
}

}  // namespace cloche::warden
