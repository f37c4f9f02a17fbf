// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/timer_calls.h"

#include <algorithm>
#include <memory>

#include "kernel/files/timer_file.h"
#include "kernel/kernel.h"
#include "kernel/linux/guest_time.h"
#include "kernel/process/process_timers.h"

namespace cloche::kernel::lnx {
namespace {

using Setting = ProcessTimers::Setting;

constexpr std::uint32_t tfd_timer_cancel_on_set = 2;

// struct itimerval of a guest whose long has 32 bits.
struct GuestItimerval {
  std::int32_t interval_s, interval_us, value_s, value_us;
};

struct GuestSigevent {
  std::uint32_t value;
  std::int32_t signo;
  std::int32_t notify;
  std::int32_t tid;
};

ProcessTimers& timers_of(Process& process) REQUIRES(kernel_lock) {
  if (!process.timers) process.timers = std::make_shared<ProcessTimers>(process);
  return *process.timers;
}

Result<Nanoseconds> from_microseconds(std::int32_t s, std::int32_t us) {
  if (s < 0 || us < 0 || us >= 1'000'000) return Errno::inval;
  return std::chrono::seconds(s) + std::chrono::microseconds(us);
}

GuestItimerval to_guest_itimerval(const Setting& setting) {
  const auto split = [](Nanoseconds time) {
    // An armed timer does not read as disarmed, however little is left.
    const auto us = std::chrono::ceil<std::chrono::microseconds>(time).count();
    return std::pair(static_cast<std::int32_t>(us / 1'000'000),
                     static_cast<std::int32_t>(us % 1'000'000));
  };
  const auto [interval_s, interval_us] = split(setting.interval);
  const auto [value_s, value_us] = split(setting.value);
  return {interval_s, interval_us, value_s, value_us};
}

Result<ProcessTimers::Itimer> itimer_of(const Call& call) {
  if (call.u32(0) > 2) return Errno::inval;
  return static_cast<ProcessTimers::Itimer>(call.u32(0));
}

GuestItimerspec to_guest_itimerspec(const Setting& setting) {
  return {to_guest(setting.interval), to_guest(setting.value)};
}

// Turns an absolute time of a clock into the time from now; one that has passed is due at once.
Result<Nanoseconds> from_now(const Call& call, std::int32_t clock, Nanoseconds time)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const Nanoseconds now, clock_now(call, clock));
  return std::max(time - now, Nanoseconds(1));
}

Result<std::shared_ptr<TimerFile>> timer_file(const Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  auto timer = std::dynamic_pointer_cast<TimerFile>(file);
  if (!timer) return Errno::inval;
  return timer;
}

GuestItimerspec to_guest_itimerspec(const TimerFile::Setting& setting) {
  return {to_guest(setting.interval), to_guest(setting.value)};
}

}  // namespace

SysResult getitimer(Call& call) {
  CLOCHE_ASSIGN(const ProcessTimers::Itimer which, itimer_of(call));
  const Setting now = call.process.timers ? call.process.timers->itimer(which) : Setting{};
  CLOCHE_TRY(call.memory.write(call.u32(1), to_guest_itimerval(now)));
  return 0;
}

SysResult setitimer(Call& call) {
  CLOCHE_ASSIGN(const ProcessTimers::Itimer which, itimer_of(call));
  Setting wanted;
  if (call.u32(1) != 0) {
    CLOCHE_ASSIGN(const GuestItimerval value, call.memory.read<GuestItimerval>(call.u32(1)));
    CLOCHE_ASSIGN(wanted.value, from_microseconds(value.value_s, value.value_us));
    CLOCHE_ASSIGN(wanted.interval, from_microseconds(value.interval_s, value.interval_us));
  }
  if (call.u32(2) != 0 && !call.memory.holds(call.u32(2), sizeof(GuestItimerval)))
    return Errno::fault;
  const Setting before = timers_of(call.process).set_itimer(which, wanted);
  if (call.u32(2) != 0) CLOCHE_TRY(call.memory.write(call.u32(2), to_guest_itimerval(before)));
  return 0;
}

SysResult timer_create(Call& call) {
  constexpr std::int32_t sigev_signal = 0, sigev_none = 1, sigev_thread_id = 4;
  const std::int32_t clock = call.i32(0);
  CLOCHE_ASSIGN(const ClockBase base, clock_base(call, clock));
  switch (clock) {
    case clock_id::realtime_alarm:
    case clock_id::boottime_alarm: return Errno::perm;
    case clock_id::monotonic_raw:
    case clock_id::realtime_coarse:
    case clock_id::monotonic_coarse: return Errno::notsup;
    default: break;
  }
  ProcessTimers::Event event{.signo = sigalrm, .value = 0, .value_is_id = true};
  if (call.u32(1) != 0) {
    CLOCHE_ASSIGN(const GuestSigevent wanted, call.memory.read<GuestSigevent>(call.u32(1)));
    event = {.signo = 0, .value = wanted.value, .value_is_id = false};
    if (wanted.notify == sigev_thread_id && wanted.tid != call.process.pid()) return Errno::inval;
    if (wanted.notify == sigev_signal || wanted.notify == sigev_thread_id) {
      if (!valid_signal(wanted.signo)) return Errno::inval;
      event.signo = wanted.signo;
    } else if (wanted.notify != sigev_none) {
      return Errno::inval;
    }
  }
  if (!call.memory.holds(call.u32(2), sizeof(std::int32_t))) return Errno::fault;
  const auto kind =
      base == ClockBase::cpu ? ProcessTimers::ClockKind::cpu : ProcessTimers::ClockKind::steady;
  CLOCHE_ASSIGN(const std::int32_t id, timers_of(call.process).create(kind, clock, event));
  CLOCHE_TRY(call.memory.write(call.u32(2), id));
  return 0;
}

SysResult timer_gettime(Call& call) {
  CLOCHE_ASSIGN(const Setting setting, timers_of(call.process).get(call.i32(0)));
  CLOCHE_TRY(call.memory.write(call.u32(1), to_guest_itimerspec(setting)));
  return 0;
}

SysResult timer_settime(Call& call) {
  ProcessTimers& timers = timers_of(call.process);
  CLOCHE_ASSIGN(const std::int32_t clock, timers.clock_number(call.i32(0)));
  CLOCHE_ASSIGN(const GuestItimerspec value, call.memory.read<GuestItimerspec>(call.u32(2)));
  Setting wanted;
  CLOCHE_ASSIGN(wanted.value, to_duration(value.value));
  CLOCHE_ASSIGN(wanted.interval, to_duration(value.interval));
  if (wanted.value.count() > 0 && (call.u32(1) & timer_abstime) != 0) {
    CLOCHE_ASSIGN(wanted.value, from_now(call, clock, wanted.value));
  }
  if (call.u32(3) != 0 && !call.memory.holds(call.u32(3), sizeof(GuestItimerspec)))
    return Errno::fault;
  CLOCHE_ASSIGN(const Setting before, timers.set(call.i32(0), wanted));
  if (call.u32(3) != 0) CLOCHE_TRY(call.memory.write(call.u32(3), to_guest_itimerspec(before)));
  return 0;
}

SysResult timer_getoverrun(Call& call) {
  CLOCHE_ASSIGN(const std::int32_t count, timers_of(call.process).overrun(call.i32(0)));
  return count;
}

SysResult timer_delete(Call& call) {
  CLOCHE_TRY(timers_of(call.process).remove(call.i32(0)));
  return 0;
}

SysResult timerfd_create(Call& call) {
  const std::int32_t clock = call.i32(0);
  if (clock == clock_id::realtime_alarm || clock == clock_id::boottime_alarm) return Errno::perm;
  if (clock != clock_id::realtime && clock != clock_id::monotonic && clock != clock_id::boottime) {
    return Errno::inval;
  }
  const std::uint32_t flags = call.u32(1);
  if ((flags & ~(o_nonblock | o_cloexec)) != 0) return Errno::inval;
  const auto file = std::make_shared<TimerFile>(call.kernel.clock(), call.kernel.next_file_id(),
                                                clock, flags & o_nonblock);
  CLOCHE_ASSIGN(const std::int32_t fd, call.process.fds.install(file, flags));
  return fd;
}

SysResult timerfd_gettime(Call& call) {
  CLOCHE_ASSIGN(const auto file, timer_file(call));
  CLOCHE_TRY(call.memory.write(call.u32(1), to_guest_itimerspec(file->setting())));
  return 0;
}

SysResult timerfd_settime(Call& call) {
  const std::uint32_t flags = call.u32(1);
  if ((flags & ~(timer_abstime | tfd_timer_cancel_on_set)) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const auto file, timer_file(call));
  CLOCHE_ASSIGN(const GuestItimerspec value, call.memory.read<GuestItimerspec>(call.u32(2)));
  CLOCHE_ASSIGN(Nanoseconds first, to_duration(value.value));
  CLOCHE_ASSIGN(const Nanoseconds interval, to_duration(value.interval));
  if (call.u32(3) != 0)
    CLOCHE_TRY(call.memory.write(call.u32(3), to_guest_itimerspec(file->setting())));
  if (first.count() == 0) {
    file->set(std::nullopt, interval);
  } else if ((flags & timer_abstime) != 0) {
    CLOCHE_ASSIGN(const SteadyTime moment, clock_moment(call, file->clock(), first));
    file->set(moment, interval);
  } else {
    file->set(call.kernel.clock().steady() + first, interval);
  }
  return 0;
}

}  // namespace cloche::kernel::lnx
