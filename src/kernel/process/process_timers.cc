// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/process_timers.h"

#include <algorithm>
#include <limits>

#include "kernel/kernel.h"
#include "kernel/process/task.h"

namespace cloche::kernel {
namespace {

using namespace std::chrono_literals;

constexpr std::int32_t key_of(ProcessTimers::Itimer which) {
  return -1 - static_cast<std::int32_t>(which);
}

constexpr std::int32_t cpu_limit_key = -4;

// A limit in seconds as a CPU time. Linux takes 0 as the next second.
ProcessTimers::Nanoseconds moment_of(std::uint64_t limit_s) {
  constexpr std::uint64_t far_s = 1'000'000'000;
  return std::chrono::seconds(std::clamp(limit_s, std::uint64_t{1}, far_s));
}

// A period below this is kept up by counting overruns: the timer thread serves all sandboxes.
constexpr ProcessTimers::Nanoseconds shortest_period = 100us;
// While its signal is still pending, a timer has nothing to do but to count.
constexpr ProcessTimers::Nanoseconds pending_period = 10ms;
// Until the next try, where its kernel is busy.
constexpr ProcessTimers::Nanoseconds first_busy_period = 1ms;

// Most calls hold the lock for less than that. The analysis follows no lock out of a loop.
bool try_for_a_moment(KernelMutex& mutex) TRY_ACQUIRE(true, kernel_lock) NO_THREAD_SAFETY_ANALYSIS {
  for (int tries = 0; tries < 20; ++tries) {
    if (mutex.try_lock()) return true;
  }
  return false;
}

}  // namespace

ProcessTimers::~ProcessTimers() {
  for (auto& [key, timer] : timers_) disarm(timer);
}

ProcessTimers::Nanoseconds ProcessTimers::cpu_time(const Process& process) {
  return process.task != nullptr ? process.task->cpu_time() : process.usage.cpu;
}

ProcessTimers::Nanoseconds ProcessTimers::now(ClockKind clock) const {
  if (clock == ClockKind::cpu) return cpu_time(process_);
  return process_.kernel().clock().steady().time_since_epoch();
}

ProcessTimers::Setting ProcessTimers::setting_of(const Timer& timer) const {
  if (!timer.expiry) return {0ns, timer.interval};
  // An armed timer never reads as 0.
  return {std::max(*timer.expiry - now(timer.clock), Nanoseconds(1)), timer.interval};
}

void ProcessTimers::disarm(Timer& timer) noexcept {
  if (timer.host_timer != 0) process_.kernel().services().timers.cancel(timer.host_timer);
  timer.host_timer = 0;
  timer.expiry.reset();
  timer.arming = 0;
}

void ProcessTimers::arm(std::int32_t key, Timer& timer, Setting setting) {
  disarm(timer);
  timer.interval = setting.interval;
  timer.overrun = 0;
  if (setting.value <= 0ns) return;
  constexpr Nanoseconds far = std::chrono::hours(24 * 365 * 100);
  timer.expiry = now(timer.clock) + std::min(setting.value, far);
  schedule(key, timer, 0ns);
}

void ProcessTimers::schedule(std::int32_t key, Timer& timer, Nanoseconds at_least) {
  const Nanoseconds wait = std::max(*timer.expiry - now(timer.clock), at_least);
  timer.arming = ++last_arming_;
  Kernel& kernel = process_.kernel();
  timer.host_timer =
      tell_later({kernel, process_.weak_from_this(), key, timer.arming}, wait, first_busy_period);
}

// On a thread that all sandboxes have: it does not wait for a lock that a guest's processes keep
// busy.
TimerThread::Id ProcessTimers::tell_later(Telling what, Nanoseconds wait, Nanoseconds if_busy) {
  Kernel& kernel = what.kernel;
  return kernel.services().timers.add(
      kernel.clock().steady() + wait, &kernel, [what = std::move(what), if_busy]() mutable {
        KernelMutex& mutex = what.kernel.mutex();
        if (!try_for_a_moment(mutex)) {
          (void)tell_later(std::move(what), if_busy, std::min(2 * if_busy, pending_period));
          return;
        }
        const KernelLock lock(mutex, std::adopt_lock);
        const ProcessPtr process = what.process.lock();
        if (process && process->timers) process->timers->due(what.key, what.arming);
      });
}

void ProcessTimers::due(std::int32_t key, std::uint64_t arming) {
  const auto found = timers_.find(key);
  if (found == timers_.end() || found->second.arming != arming || !found->second.expiry) return;
  Timer& timer = found->second;
  timer.host_timer = 0;
  const Nanoseconds time = now(timer.clock);
  if (time < *timer.expiry) {
    // Of a clock that stands still while its process sleeps.
    const bool sleeps = process_.task == nullptr || process_.task->sleeping();
    schedule(key, timer, sleeps ? pending_period : shortest_period);
    return;
  }
  std::int64_t expirations = 1;
  if (timer.interval > 0ns) {
    expirations += (time - *timer.expiry) / timer.interval;
    *timer.expiry += timer.interval * expirations;
  } else {
    timer.expiry.reset();
  }

  const bool over = key == cpu_limit_key && time >= moment_of(process_.limits[rlimit_cpu].hard);
  const int signo = over ? sigkill : timer.event.signo;
  const bool pending = signo != 0 && process_.signals.pending().has(signo);
  if (pending) {
    timer.overrun += expirations;
  } else if (signo != 0) {
    timer.overrun = expirations - 1;
    (void)process_.kernel().post(process_, SignalInfo{.signo = signo,
                                                      .code = timer.code,
                                                      .status = std::max(key, 0),
                                                      .value = timer.event.value});
  }
  const bool is_told = signo != 0 && !pending && !process_.signals.ignored(signo);
  if (timer.expiry) schedule(key, timer, is_told ? shortest_period : pending_period);
}

void ProcessTimers::watch_cpu_limit(Process& process) {
  const bool limited = process.limits[rlimit_cpu].soft != rlim_infinity;
  if (limited && !process.timers) process.timers = std::make_shared<ProcessTimers>(process);
  if (process.timers) process.timers->arm_cpu_limit();
}

void ProcessTimers::arm_cpu_limit() {
  const ResourceLimit limit = process_.limits[rlimit_cpu];
  Timer& timer = timers_[cpu_limit_key];
  timer.clock = ClockKind::cpu;
  timer.event.signo = sigxcpu;
  timer.code = si_kernel;
  if (limit.soft == rlim_infinity) return disarm(timer);
  // A limit that is already used up is reported at once.
  arm(cpu_limit_key, timer,
      {std::max(moment_of(limit.soft) - now(timer.clock), Nanoseconds(1)), 1s});
}

ProcessTimers::Setting ProcessTimers::itimer(Itimer which) const {
  const auto found = timers_.find(key_of(which));
  return found == timers_.end() ? Setting{} : setting_of(found->second);
}

ProcessTimers::Setting ProcessTimers::set_itimer(Itimer which, Setting setting) {
  const auto [found, added] = timers_.try_emplace(key_of(which));
  Timer& timer = found->second;
  if (added) {
    constexpr std::array<int, 3> signals = {sigalrm, sigvtalrm, sigprof};
    timer.event.signo = signals[static_cast<std::size_t>(which)];
    timer.code = si_kernel;
    timer.clock = which == Itimer::real ? ClockKind::steady : ClockKind::cpu;
  }
  const Setting before = setting_of(timer);
  arm(found->first, timer, setting);
  return before;
}

Result<std::int32_t> ProcessTimers::create(ClockKind clock, std::int32_t clock_number,
                                           Event event) {
  std::int32_t id = 0;
  while (timers_.contains(id)) ++id;
  if (static_cast<std::size_t>(id) >= max_timers) return Errno::again;
  Timer& timer = timers_[id];
  timer.clock = clock;
  timer.clock_number = clock_number;
  timer.event = event;
  if (event.value_is_id) timer.event.value = static_cast<std::uint32_t>(id);
  timer.code = si_timer;
  return id;
}

const ProcessTimers::Timer* ProcessTimers::find(std::int32_t id) const {
  const auto found = timers_.find(id);
  return id < 0 || found == timers_.end() ? nullptr : &found->second;
}

Result<ProcessTimers::Setting> ProcessTimers::get(std::int32_t id) const {
  const Timer* timer = find(id);
  if (timer == nullptr) return Errno::inval;
  return setting_of(*timer);
}

Result<ProcessTimers::Setting> ProcessTimers::set(std::int32_t id, Setting setting) {
  if (find(id) == nullptr) return Errno::inval;
  Timer& timer = timers_.at(id);
  const Setting before = setting_of(timer);
  arm(id, timer, setting);
  return before;
}

Result<std::int32_t> ProcessTimers::overrun(std::int32_t id) const {
  const Timer* timer = find(id);
  if (timer == nullptr) return Errno::inval;
  constexpr std::int64_t delaytimer_max = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::min(timer->overrun, delaytimer_max));
}

Result<void> ProcessTimers::remove(std::int32_t id) {
  if (find(id) == nullptr) return Errno::inval;
  disarm(timers_.at(id));
  timers_.erase(id);
  return {};
}

Result<std::int32_t> ProcessTimers::clock_number(std::int32_t id) const {
  const Timer* timer = find(id);
  if (timer == nullptr) return Errno::inval;
  return std::int32_t{timer->clock_number};
}

void ProcessTimers::program_changed() {
  const auto first = timers_.lower_bound(0);
  for (auto it = first; it != timers_.end(); ++it) disarm(it->second);
  timers_.erase(first, timers_.end());
}

}  // namespace cloche::kernel
