// SPDX-License-Identifier: Apache-2.0
// The system at large: names, numbers, limits, entropy, scheduling, and what a single-threaded
// program may ask of threads.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <thread>

#include "kernel/kernel.h"
#include "kernel/linux/call.h"
#include "kernel/linux/guest_time.h"
#include "kernel/process/process_timers.h"
#include "kernel/process/turns.h"

namespace cloche::kernel::lnx {
namespace {

SysResult uname(Call& call) {
  struct Name {
    std::array<std::array<char, 65>, 6> fields;
  } name{};
  const std::array<std::string_view, 6> texts{"Linux",        call.kernel.options().host_name,
                                              "6.1.0-cloche", "#1 SMP Cloche",
                                              "wasm32",       "(none)"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::memcpy(name.fields[i].data(), texts[i].data(), std::min(texts[i].size(), std::size_t{64}));
  }
  CLOCHE_TRY(call.memory.write(call.u32(0), name));
  return 0;
}

SysResult sysinfo(Call& call) REQUIRES(kernel_lock) {
  struct Info {
    std::uint32_t uptime_s;
    std::array<std::uint32_t, 3> loads;
    std::uint32_t total_ram, free_ram, shared_ram, buffer_ram, total_swap, free_swap;
    std::uint16_t processes, pad;
    std::uint32_t total_high, free_high, unit;
    std::array<std::uint8_t, 8> rest;
  } info{};
  static_assert(sizeof(Info) == 64);
  constexpr std::uint32_t unit =
      4096;  // memory is counted in pages: 32-bit words hold it whatever the limit
  const auto up = call.kernel.clock().steady() - call.kernel.booted();
  const std::uint64_t total = call.kernel.limits().memory_bytes;
  info.uptime_s =
      static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(up).count());
  info.total_ram = static_cast<std::uint32_t>(total / unit);
  info.free_ram =
      static_cast<std::uint32_t>((total - std::min(total, call.kernel.memory_in_use())) / unit);
  info.processes = static_cast<std::uint16_t>(call.kernel.processes().size());
  info.unit = unit;
  CLOCHE_TRY(call.memory.write(call.u32(0), info));
  return 0;
}

SysResult getrandom(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t known_flags = 7;
  if ((call.u32(2) & ~known_flags) != 0) return Errno::inval;
  constexpr std::uint32_t most = 32 << 20;
  const std::uint32_t length = std::min(call.u32(1), most);
  CLOCHE_ASSIGN(const auto bytes, call.memory.slice(call.u32(0), length));
  CLOCHE_ASSIGN(const std::size_t done,
                in_turns(call.task, bytes.size(), [&](std::size_t at, std::size_t count) {
                  Kernel::fill_random(bytes.subspan(at, count));
                  return Result<std::size_t>(count);
                }));
  return static_cast<std::int64_t>(done);
}

struct GuestLimit {
  std::uint64_t soft, hard;
};

Result<void> set_limit(Process& process, std::uint32_t which, const GuestLimit& wanted)
    REQUIRES(kernel_lock) {
  ResourceLimit& limit = process.limits[which];
  if (wanted.soft > wanted.hard) return Errno::inval;
  if (wanted.hard > limit.hard) return Errno::perm;
  limit = {wanted.soft, wanted.hard};
  if (which == rlimit_nofile) process.fds.set_limit(static_cast<std::uint32_t>(wanted.soft));
  if (which == rlimit_cpu) ProcessTimers::watch_cpu_limit(process);
  return {};
}

SysResult prlimit64(Call& call) REQUIRES(kernel_lock) {
  if (call.u32(1) >= rlimit_count) return Errno::inval;
  const ProcessPtr target =
      call.i32(0) == 0 ? call.process.shared_from_this() : call.kernel.find(call.i32(0));
  if (!target) return Errno::srch;
  const ResourceLimit old = target->limits[call.u32(1)];
  if (call.u32(3) != 0 && !call.memory.holds(call.u32(3), sizeof(GuestLimit))) return Errno::fault;
  if (call.u32(2) != 0) {
    CLOCHE_ASSIGN(const GuestLimit wanted, call.memory.read<GuestLimit>(call.u32(2)));
    CLOCHE_TRY(set_limit(*target, call.u32(1), wanted));
  }
  if (call.u32(3) != 0) CLOCHE_TRY(call.memory.write(call.u32(3), GuestLimit{old.soft, old.hard}));
  return 0;
}

SysResult prctl(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t set_pdeathsig = 1, get_pdeathsig = 2, get_dumpable = 3, set_dumpable = 4,
                          set_name = 15, get_name = 16, set_no_new_privs = 38,
                          get_no_new_privs = 39;
  switch (call.u32(0)) {
    case set_name: {
      std::string name;
      for (std::uint32_t i = 0; i < 15; ++i) {
        CLOCHE_ASSIGN(const char c, call.memory.read<char>(call.u32(1) + i));
        if (c == '\0') break;
        name.push_back(c);
      }
      call.process.name = std::move(name);
      return 0;
    }
    case get_name: {
      std::array<char, 16> name{};
      std::memcpy(name.data(), call.process.name.data(),
                  std::min(call.process.name.size(), name.size() - 1));
      CLOCHE_TRY(call.memory.write(call.u32(1), name));
      return 0;
    }
    case get_pdeathsig: CLOCHE_TRY(call.memory.write<std::int32_t>(call.u32(1), 0)); return 0;
    case set_pdeathsig: return call.u32(1) == 0 ? SysResult(0) : SysResult(Errno::inval);
    case get_dumpable:
    case get_no_new_privs: return 1;
    // Taken, and changes nothing: there are no core files.
    case set_dumpable: return call.u32(1) <= 1 ? SysResult(0) : SysResult(Errno::inval);
    case set_no_new_privs: return call.u32(1) == 1 ? SysResult(0) : SysResult(Errno::inval);
    default: return Errno::inval;
  }
}

// FUTEX_WAIT_BITSET waits until this clock shows the time; FUTEX_WAIT, without one, for so long.
Result<Deadline> futex_deadline(const Call& call, std::optional<std::int32_t> clock)
    REQUIRES(kernel_lock) {
  if (!clock || call.u32(3) == 0) return read_timeout(call, call.u32(3));
  CLOCHE_ASSIGN(const Nanoseconds time, read_time(call, call.u32(3)));
  CLOCHE_ASSIGN(const SteadyTime moment, clock_moment(call, *clock, time));
  return Deadline(moment);
}

// Guests have one thread: whoever waits on a futex waits for its time or a signal.
SysResult futex(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t command_mask = 0x7f, wait = 0, wake = 1, wait_bitset = 9,
                          wake_bitset = 10;
  constexpr std::uint32_t clock_realtime_flag = 0x100;
  std::optional<std::int32_t> clock;
  switch (call.u32(1) & command_mask) {
    case wake:
    case wake_bitset: return 0;
    case wait: break;
    case wait_bitset:
      clock = (call.u32(1) & clock_realtime_flag) != 0 ? clock_id::realtime : clock_id::monotonic;
      break;
    default: return Errno::nosys;
  }
  CLOCHE_ASSIGN(const std::uint32_t value, call.memory.read<std::uint32_t>(call.u32(0)));
  if (value != call.u32(2)) return Errno::again;
  CLOCHE_ASSIGN(const Deadline deadline, futex_deadline(call, clock));
  for (;;) CLOCHE_TRY(call.task.block({}, deadline));
}

SysResult set_tid_address(Call& call) { return call.process.pid(); }
SysResult accepted(Call&) { return 0; }
SysResult not_permitted(Call&) { return Errno::perm; }
SysResult invalid(Call&) { return Errno::inval; }

SysResult sched_getaffinity(Call& call) {
  constexpr std::uint32_t word_bytes = 4;
  if (call.u32(1) < word_bytes || call.u32(1) % word_bytes != 0) return Errno::inval;
  CLOCHE_TRY(call.memory.write<std::uint32_t>(call.u32(2), 1));  // one CPU, as /proc says
  return word_bytes;
}

SysResult getcpu(Call& call) {
  for (const std::size_t i : {0U, 1U}) {
    if (call.u32(i) != 0 && !call.memory.holds(call.u32(i), 4)) return Errno::fault;
  }
  for (const std::size_t i : {0U, 1U}) {
    if (call.u32(i) != 0) CLOCHE_TRY(call.memory.write<std::uint32_t>(call.u32(i), 0));
  }
  return 0;
}

SysResult getpriority(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t prio_process = 0;
  if (call.u32(0) > 2) return Errno::inval;
  const bool self = call.u32(1) == 0 || call.u32(0) != prio_process;
  const ProcessPtr target = self ? call.process.shared_from_this() : call.kernel.find(call.i32(1));
  if (!target) return Errno::srch;
  return 20 - target->nice;
}

SysResult setpriority(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t prio_process = 0;
  if (call.u32(0) > 2) return Errno::inval;
  const bool self = call.u32(1) == 0 || call.u32(0) != prio_process;
  const ProcessPtr target = self ? call.process.shared_from_this() : call.kernel.find(call.i32(1));
  if (!target) return Errno::srch;
  const int wanted = std::clamp(call.i32(2), -20, 19);
  if (wanted < target->nice) return Errno::acces;
  target->nice = wanted;
  return 0;
}

SysResult sched_yield(Call& call) REQUIRES(kernel_lock) {
  const KernelUnlocked unlocked(call.kernel.mutex());
  std::this_thread::yield();
  return 0;
}

SysResult sched_getparam(Call& call) {
  CLOCHE_TRY(call.memory.write<std::int32_t>(call.u32(1), 0));
  return 0;
}

// Capabilities: none.
SysResult capget(Call& call) {
  constexpr std::uint32_t version_3 = 0x20080522;
  CLOCHE_ASSIGN(const std::uint32_t version, call.memory.read<std::uint32_t>(call.u32(0)));
  if (version != version_3) {
    CLOCHE_TRY(call.memory.write(call.u32(0), version_3));
    return call.u32(1) == 0 ? SysResult(0) : SysResult(Errno::inval);
  }
  if (call.u32(1) != 0) CLOCHE_TRY(call.memory.write(call.u32(1), std::array<std::uint32_t, 6>{}));
  return 0;
}

constexpr std::array system_entries{
    Entry{90, "capget", 2, capget, Support::partial, "there are no capabilities"},
    Entry{91, "capset", 2, not_permitted, Support::refused, "EPERM"},
    Entry{92, "personality", 1, accepted, Support::accepted, "always the plain one"},
    Entry{96, "set_tid_address", 1, set_tid_address, Support::partial,
          "gives the process id; a process has one thread"},
    Entry{97, "unshare", 1, not_permitted, Support::refused, "EPERM"},
    Entry{99, "set_robust_list", 2, accepted, Support::accepted, "a process has one thread"},
    Entry{116, "syslog", 3, not_permitted, Support::refused, "EPERM"},
    Entry{117, "ptrace", 4, not_permitted, Support::refused, "EPERM"},
    Entry{118, "sched_setparam", 2, not_permitted, Support::refused, "EPERM"},
    Entry{119, "sched_setscheduler", 3, not_permitted, Support::refused, "EPERM"},
    Entry{120, "sched_getscheduler", 1, accepted, Support::accepted, "SCHED_OTHER"},
    Entry{121, "sched_getparam", 2, sched_getparam, Support::partial, "priority 0"},
    Entry{122, "sched_setaffinity", 3, accepted, Support::accepted},
    Entry{123, "sched_getaffinity", 3, sched_getaffinity, Support::partial, "one processor"},
    Entry{124, "sched_yield", 0, sched_yield},
    Entry{125, "sched_get_priority_max", 1, accepted, Support::accepted, "0"},
    Entry{126, "sched_get_priority_min", 1, accepted, Support::accepted, "0"},
    Entry{140, "setpriority", 3, setpriority, Support::partial,
          "nice values are kept and shown; they do not change scheduling"},
    Entry{141, "getpriority", 2, getpriority},
    Entry{142, "reboot", 4, not_permitted, Support::refused, "EPERM"},
    Entry{160, "uname", 1, uname},
    Entry{161, "sethostname", 2, not_permitted, Support::refused, "EPERM"},
    Entry{162, "setdomainname", 2, not_permitted, Support::refused, "EPERM"},
    Entry{167, "prctl", 5, prctl, Support::partial,
          "name, parent-death signal (none), dumpable, no_new_privs"},
    Entry{168, "getcpu", 3, getcpu, Support::partial, "processor 0"},
    Entry{179, "sysinfo", 1, sysinfo},
    Entry{261, "prlimit64", 4, prlimit64},
    Entry{268, "setns", 2, not_permitted, Support::refused, "EPERM"},
    Entry{277, "seccomp", 3, invalid, Support::refused, "EINVAL"},
    Entry{278, "getrandom", 3, getrandom},
    Entry{280, "bpf", 3, not_permitted, Support::refused, "EPERM"},
    Entry{283, "membarrier", 3, accepted, Support::accepted, "a process has one thread"},
    Entry{422, "futex_time64", 6, futex, Support::partial,
          "wait and wake; a process has one thread, so a wait ends by its time or a signal"},
};

}  // namespace

std::span<const Entry> system_calls() { return system_entries; }

}  // namespace cloche::kernel::lnx
