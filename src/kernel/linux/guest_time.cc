// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/guest_time.h"

#include <algorithm>

#include "kernel/kernel.h"
#include "kernel/process/process_timers.h"

namespace cloche::kernel::lnx {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t longest_s = 100LL * 365 * 86400;
constexpr Nanoseconds coarse_step = 4ms;

// A CPU clock of a process by its id, as clock_getcpuclockid makes it: ~pid in the upper bits.
constexpr std::int32_t cpu_which_mask = 3, cpu_which_fd = 3, cpu_thread_bit = 4;

Result<ProcessPtr> clock_process(const Call& call, std::int32_t clock) REQUIRES(kernel_lock) {
  const bool names_one = clock < 0;
  if (names_one && (clock & cpu_which_mask) == cpu_which_fd) return Errno::inval;
  const Pid pid = names_one ? ~(clock >> 3) : 0;
  if (pid == 0 || pid == call.process.pid()) return call.process.shared_from_this();
  if ((clock & cpu_thread_bit) != 0) return Errno::inval;
  ProcessPtr process = call.kernel.find(pid);
  if (!process) return Errno::inval;
  return process;
}

Nanoseconds realtime(const Call& call) { return call.kernel.clock().wall().time_since_epoch(); }

}  // namespace

Result<Nanoseconds> to_duration(const GuestTimespec& time) {
  if (time.s < 0 || time.ns >= second_ns) return Errno::inval;
  return std::chrono::seconds(std::min(time.s, longest_s)) + Nanoseconds(time.ns);
}

GuestTimespec to_guest(Nanoseconds time) {
  return {time.count() / second_ns, static_cast<std::uint32_t>(time.count() % second_ns), 0};
}

Result<Nanoseconds> read_time(const Call& call, std::uint32_t address) {
  CLOCHE_ASSIGN(const GuestTimespec time, call.memory.read<GuestTimespec>(address));
  return to_duration(time);
}

Result<Deadline> read_timeout(const Call& call, std::uint32_t address) {
  if (address == 0) return Deadline();
  CLOCHE_ASSIGN(const Nanoseconds time, read_time(call, address));
  return Deadline(call.kernel.clock().steady() + time);
}

Result<ClockBase> clock_base(const Call& call, std::int32_t clock) {
  switch (clock) {
    case clock_id::realtime:
    case clock_id::realtime_coarse:
    case clock_id::realtime_alarm:
    case clock_id::tai: return ClockBase::realtime;
    case clock_id::monotonic:
    case clock_id::monotonic_raw:
    case clock_id::monotonic_coarse:
    case clock_id::boottime:
    case clock_id::boottime_alarm: return ClockBase::since_boot;
    case clock_id::process_cpu:
    case clock_id::thread_cpu: return ClockBase::cpu;
    default:
      if (clock >= 0) return Errno::inval;
      CLOCHE_TRY(clock_process(call, clock));
      return ClockBase::cpu;
  }
}

Result<Nanoseconds> clock_now(const Call& call, std::int32_t clock) {
  CLOCHE_ASSIGN(const ClockBase base, clock_base(call, clock));
  Nanoseconds now{0};
  switch (base) {
    case ClockBase::realtime: now = realtime(call); break;
    case ClockBase::since_boot: now = call.kernel.clock().steady() - call.kernel.booted(); break;
    case ClockBase::cpu: {
      CLOCHE_ASSIGN(const ProcessPtr process, clock_process(call, clock));
      return ProcessTimers::cpu_time(*process);
    }
  }
  const bool coarse = clock == clock_id::realtime_coarse || clock == clock_id::monotonic_coarse;
  return coarse ? now - now % coarse_step : now;
}

Result<Nanoseconds> clock_step(const Call& call, std::int32_t clock) {
  CLOCHE_TRY(clock_base(call, clock));
  const bool coarse = clock == clock_id::realtime_coarse || clock == clock_id::monotonic_coarse;
  return coarse ? coarse_step : Nanoseconds(1);
}

Result<SteadyTime> clock_moment(const Call& call, std::int32_t clock, Nanoseconds time) {
  CLOCHE_ASSIGN(const ClockBase base, clock_base(call, clock));
  if (base == ClockBase::cpu) return Errno::inval;
  if (base == ClockBase::since_boot) return call.kernel.booted() + time;
  return call.kernel.clock().steady() + (time - realtime(call));
}

}  // namespace cloche::kernel::lnx
