// SPDX-License-Identifier: Apache-2.0
// ProcessTimers: the timers of one process that end in a signal: setitimer's three, those of
// timer_create, and RLIMIT_CPU. Kernel lock held.
//
// The host's TimerThread calls back when one is due. Timers of CPU clocks are looked at when they
// could have expired at the earliest, for a process cannot use more CPU time than time passes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/result.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/timer_thread.h"
#include "kernel/time/wait_queue.h"

namespace cloche::kernel {

class Kernel;
class Process;

class ProcessTimers {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  enum class ClockKind { steady, cpu };
  enum class Itimer { real = 0, virtual_time = 1, profile = 2 };

  // Time to the next expiry (0: disarmed) and the period after that (0: once).
  struct Setting {
    Nanoseconds value{0};
    Nanoseconds interval{0};
  };

  // What a POSIX timer does when it expires.
  struct Event {
    int signo = 0;  // 0: nothing (SIGEV_NONE)
    std::uint32_t value = 0;
    bool value_is_id = false;  // no sigevent was given: the value is the timer's id
  };

  static constexpr std::size_t max_timers = 32;

  explicit ProcessTimers(Process& process) : process_(process) {}
  ~ProcessTimers();
  ProcessTimers(const ProcessTimers&) = delete;
  ProcessTimers& operator=(const ProcessTimers&) = delete;

  Setting itimer(Itimer which) const REQUIRES(kernel_lock);
  // The setting before.
  Setting set_itimer(Itimer which, Setting setting) REQUIRES(kernel_lock);

  // The id; EAGAIN at max_timers. `clock_number`: what the guest calls the clock; only kept.
  Result<std::int32_t> create(ClockKind clock, std::int32_t clock_number, Event event);
  // EINVAL for an id that does not exist.
  Result<Setting> get(std::int32_t id) const REQUIRES(kernel_lock);
  Result<Setting> set(std::int32_t id, Setting setting) REQUIRES(kernel_lock);
  Result<std::int32_t> overrun(std::int32_t id) const;
  Result<void> remove(std::int32_t id);
  Result<std::int32_t> clock_number(std::int32_t id) const;

  // To be called when RLIMIT_CPU of a process has been set or inherited: SIGXCPU comes at the soft
  // limit and at each second of CPU time after it, SIGKILL at the hard one.
  static void watch_cpu_limit(Process& process) REQUIRES(kernel_lock);

  // exec: the timers of timer_create are gone, those of setitimer stay.
  void program_changed();

  // For the timer thread's callback: a timer's moment has come. `arming` tells a timer that was set
  // again in the meantime.
  void due(std::int32_t key, std::uint64_t arming) REQUIRES(kernel_lock);

  // The CPU time of a process up to now.
  static Nanoseconds cpu_time(const Process& process) REQUIRES(kernel_lock);

 private:
  struct Timer {
    ClockKind clock = ClockKind::steady;
    std::int32_t clock_number = 0;
    Event event;
    int code = 0;
    std::optional<Nanoseconds> expiry;  // on its clock
    Nanoseconds interval{0};
    TimerThread::Id host_timer = 0;
    std::uint64_t arming = 0;
    std::int64_t overrun = 0;
  };

  void arm_cpu_limit() REQUIRES(kernel_lock);
  Nanoseconds now(ClockKind clock) const REQUIRES(kernel_lock);
  Setting setting_of(const Timer& timer) const REQUIRES(kernel_lock);
  void arm(std::int32_t key, Timer& timer, Setting setting) REQUIRES(kernel_lock);
  void schedule(std::int32_t key, Timer& timer, Nanoseconds at_least) REQUIRES(kernel_lock);
  struct Telling {
    Kernel& kernel;
    std::weak_ptr<Process> process;
    std::int32_t key;
    std::uint64_t arming;
  };
  static TimerThread::Id tell_later(Telling what, Nanoseconds wait, Nanoseconds if_busy);
  void disarm(Timer& timer) noexcept;
  const Timer* find(std::int32_t id) const;

  Process& process_;
  std::map<std::int32_t, Timer> timers_;  // ids from 0 on; itimers and the limit have negative keys
  std::uint64_t last_arming_ = 0;
};

}  // namespace cloche::kernel
