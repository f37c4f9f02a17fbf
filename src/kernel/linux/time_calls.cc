// SPDX-License-Identifier: Apache-2.0
// Clocks and sleeps; the calls on timers are in timer_calls.cc.
#include <array>

#include "kernel/kernel.h"
#include "kernel/linux/guest_time.h"
#include "kernel/linux/timer_calls.h"
#include "kernel/process/process_timers.h"

namespace cloche::kernel::lnx {
namespace {

SysResult clock_gettime(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const Nanoseconds now, clock_now(call, call.i32(0)));
  CLOCHE_TRY(call.memory.write(call.u32(1), to_guest(now)));
  return 0;
}

SysResult clock_getres(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const Nanoseconds step, clock_step(call, call.i32(0)));
  if (call.u32(1) != 0) CLOCHE_TRY(call.memory.write(call.u32(1), to_guest(step)));
  return 0;
}

// The time is the host's.
SysResult clock_settime(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const ClockBase base, clock_base(call, call.i32(0)));
  return call.i32(0) == clock_id::realtime && base == ClockBase::realtime ? Errno::perm
                                                                          : Errno::inval;
}

SysResult clock_adjtime(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_TRY(clock_base(call, call.i32(0)));
  return Errno::perm;
}

// Sleeps up to the moment; EINTR when a signal wants its handler.
Result<void> sleep_until(Call& call, SteadyTime moment) REQUIRES(kernel_lock) {
  for (;;) {
    const Result<void> slept = call.task.block({}, moment);
    if (slept) continue;
    if (slept.error() == Errno::timedout) return {};
    return slept.error() == Errno::restart ? Errno::intr : slept.error();
  }
}

SysResult sleep_for(Call& call, Nanoseconds time, std::uint32_t remaining) REQUIRES(kernel_lock) {
  const SteadyTime moment = call.kernel.clock().steady() + time;
  const Result<void> slept = sleep_until(call, moment);
  if (slept) return 0;
  if (slept.error() == Errno::intr && remaining != 0) {
    const Nanoseconds left = std::max(moment - call.kernel.clock().steady(), Nanoseconds(0));
    CLOCHE_TRY(call.memory.write(remaining, to_guest(left)));
  }
  return slept.error();
}

SysResult clock_nanosleep(Call& call) REQUIRES(kernel_lock) {
  const std::int32_t clock = call.i32(0);
  CLOCHE_ASSIGN(const ClockBase base, clock_base(call, clock));
  CLOCHE_ASSIGN(const Nanoseconds time, read_time(call, call.u32(2)));
  switch (clock) {
    case clock_id::thread_cpu: return Errno::inval;
    case clock_id::monotonic_raw:
    case clock_id::realtime_coarse:
    case clock_id::monotonic_coarse: return Errno::notsup;
    case clock_id::realtime_alarm:
    case clock_id::boottime_alarm: return Errno::perm;
    default: break;
  }
  // A process that sleeps uses no CPU time: its own CPU clock would never get there.
  if (base == ClockBase::cpu) return Errno::notsup;
  if ((call.u32(1) & timer_abstime) == 0) return sleep_for(call, time, call.u32(3));
  CLOCHE_ASSIGN(const SteadyTime moment, clock_moment(call, clock, time));
  CLOCHE_TRY(sleep_until(call, moment));
  return 0;
}

SysResult nanosleep(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const Nanoseconds time, read_time(call, call.u32(0)));
  return sleep_for(call, time, call.u32(1));
}

SysResult gettimeofday(Call& call) REQUIRES(kernel_lock) {
  struct GuestTimeval {
    std::int64_t s, us;
  };
  struct GuestTimezone {
    std::int32_t minutes_west, dst_time;
  };
  CLOCHE_ASSIGN(const Nanoseconds now, clock_now(call, clock_id::realtime));
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  if (call.u32(0) != 0)
    CLOCHE_TRY(call.memory.write(call.u32(0), GuestTimeval{us / 1'000'000, us % 1'000'000}));
  if (call.u32(1) != 0) CLOCHE_TRY(call.memory.write(call.u32(1), GuestTimezone{0, 0}));
  return 0;
}

SysResult times(Call& call) REQUIRES(kernel_lock) {
  using Ticks = std::chrono::duration<std::int64_t, std::ratio<1, 100>>;  // USER_HZ
  struct GuestTms {
    std::int32_t user, system, children_user, children_system;
  };
  const auto ticks = [](Nanoseconds time) {
    return static_cast<std::int32_t>(std::chrono::duration_cast<Ticks>(time).count());
  };
  if (call.u32(0) != 0) {
    const GuestTms used{ticks(ProcessTimers::cpu_time(call.process)), 0,
                        ticks(call.process.children_usage.cpu), 0};
    CLOCHE_TRY(call.memory.write(call.u32(0), used));
  }
  return ticks(call.kernel.clock().steady() - call.kernel.booted());
}

}  // namespace

std::span<const Entry> time_calls() {
  static constexpr auto calls = std::to_array<Entry>({
      {85, "timerfd_create", 2, timerfd_create},
      {101, "nanosleep", 2, nanosleep},
      {102, "getitimer", 2, getitimer},
      {103, "setitimer", 3, setitimer},
      {107, "timer_create", 3, timer_create},
      {109, "timer_getoverrun", 1, timer_getoverrun},
      {111, "timer_delete", 1, timer_delete},
      {153, "times", 1, times},
      {169, "gettimeofday", 2, gettimeofday},
      {403, "clock_gettime64", 2, clock_gettime},
      {404, "clock_settime64", 2, clock_settime, Support::refused,
       "EPERM, EINVAL for clocks that nobody sets"},
      {405, "clock_adjtime64", 2, clock_adjtime, Support::refused, "EPERM"},
      {406, "clock_getres_time64", 2, clock_getres},
      {407, "clock_nanosleep_time64", 4, clock_nanosleep},
      {408, "timer_gettime64", 2, timer_gettime},
      {409, "timer_settime64", 4, timer_settime},
      {410, "timerfd_gettime64", 2, timerfd_gettime},
      {411, "timerfd_settime64", 4, timerfd_settime},
  });
  return calls;
}

}  // namespace cloche::kernel::lnx
