// SPDX-License-Identifier: Apache-2.0
// Times in guest memory, and the clocks of a Linux guest.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "kernel/linux/call.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel::lnx {

using Nanoseconds = std::chrono::nanoseconds;

// struct __kernel_timespec. The upper half of the nanoseconds is padding for a guest whose long has
// 32 bits.
struct GuestTimespec {
  std::int64_t s;
  std::uint32_t ns;
  std::uint32_t pad;
};
static_assert(sizeof(GuestTimespec) == 16);

// struct __kernel_itimerspec.
struct GuestItimerspec {
  GuestTimespec interval;
  GuestTimespec value;
};

// EINVAL for a negative time or one with more than a second of nanoseconds; what is too far away is
// a hundred years.
Result<Nanoseconds> to_duration(const GuestTimespec& time);
GuestTimespec to_guest(Nanoseconds time);
// The time at an address.
Result<Nanoseconds> read_time(const Call& call, std::uint32_t address);
// Nothing for a null pointer: then a wait has no end.
Result<Deadline> read_timeout(const Call& call, std::uint32_t address);

namespace clock_id {
inline constexpr std::int32_t realtime = 0, monotonic = 1, process_cpu = 2, thread_cpu = 3,
                              monotonic_raw = 4, realtime_coarse = 5, monotonic_coarse = 6,
                              boottime = 7, realtime_alarm = 8, boottime_alarm = 9, tai = 11;
}

enum class ClockBase { realtime, since_boot, cpu };
// What a clock counts; EINVAL for one that does not exist.
Result<ClockBase> clock_base(const Call& call, std::int32_t clock) REQUIRES(kernel_lock);
// The clock's time, and its step. Monotonic clocks start at the sandbox's boot: nothing of the
// host's uptime shows.
Result<Nanoseconds> clock_now(const Call& call, std::int32_t clock) REQUIRES(kernel_lock);
Result<Nanoseconds> clock_step(const Call& call, std::int32_t clock) REQUIRES(kernel_lock);
// The host's moment when a clock that is not a CPU clock shows `time`.
Result<SteadyTime> clock_moment(const Call& call, std::int32_t clock, Nanoseconds time)
    REQUIRES(kernel_lock);

}  // namespace cloche::kernel::lnx
