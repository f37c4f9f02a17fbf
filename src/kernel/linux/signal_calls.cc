// SPDX-License-Identifier: Apache-2.0
// Signals: dispositions, masks, sending, waiting, and the delivery loop of libc
// (docs/guest-abi.md).
#include <algorithm>
#include <array>
#include <chrono>

#include "kernel/kernel.h"
#include "kernel/linux/call.h"
#include "kernel/linux/guest_time.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t sigset_bytes = 8;

// struct sigaction of the kernel on riscv32.
struct GuestAction {
  std::uint32_t handler, flags;
  std::uint64_t mask;
};
static_assert(sizeof(GuestAction) == 16);

// siginfo_t: the members for kill, sigqueue and SIGCHLD share their places.
struct GuestInfo {
  std::int32_t signo, error, code, pid;
  std::uint32_t uid, status_or_value;
  std::array<std::uint32_t, 26> rest;
};
static_assert(sizeof(GuestInfo) == 128);

// struct cloche_signal.
struct Delivery {
  std::int32_t signo;
  std::uint32_t handler, flags, pad;
  std::uint64_t restore_mask;
  std::int32_t code, pid;
  std::uint32_t uid;
  std::int32_t status;
  GuestInfo info;
  std::uint64_t reserved;
};
static_assert(sizeof(Delivery) == 176);

GuestInfo guest_info(const SignalInfo& info) {
  GuestInfo out{};
  out.signo = info.signo;
  out.code = info.code;
  out.pid = info.pid;
  out.uid = info.uid;
  out.status_or_value =
      info.signo == sigchld ? static_cast<std::uint32_t>(info.status) : info.value;
  return out;
}

SignalInfo from_sender(const Call& call, int signo, int code) REQUIRES(kernel_lock) {
  return {
      .signo = signo, .code = code, .pid = call.process.pid(), .uid = call.process.credentials.uid};
}

SysResult rt_sigaction(Call& call) REQUIRES(kernel_lock) {
  const int signo = call.i32(0);
  if (!valid_signal(signo) || call.u32(3) != sigset_bytes) return Errno::inval;
  if (call.u32(1) != 0 && unblockable.has(signo)) return Errno::inval;
  SignalState& signals = call.process.signals;
  const Disposition old = signals.disposition(signo);
  std::optional<GuestAction> wanted;
  if (call.u32(1) != 0) {
    CLOCHE_ASSIGN(wanted, call.memory.read<GuestAction>(call.u32(1)));
  }
  if (call.u32(2) != 0) {
    CLOCHE_TRY(
        call.memory.write(call.u32(2), GuestAction{old.handler, old.flags, old.mask.bits()}));
  }
  if (wanted) {
    signals.disposition(signo) = {wanted->handler, wanted->flags,
                                  SignalSet(wanted->mask) & ~unblockable};
    if (signals.ignored(signo)) signals.discard(SignalSet::of(signo));
  }
  return 0;
}

SysResult rt_sigprocmask(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t block = 0, unblock = 1, setmask = 2;
  if (call.u32(3) != sigset_bytes) return Errno::inval;
  SignalState& signals = call.process.signals;
  const SignalSet old = signals.mask;
  std::optional<SignalSet> wanted;
  if (call.u32(1) != 0) {
    CLOCHE_ASSIGN(const std::uint64_t bits, call.memory.read<std::uint64_t>(call.u32(1)));
    wanted = SignalSet(bits) & ~unblockable;
    switch (call.u32(0)) {
      case block: wanted = old | *wanted; break;
      case unblock: wanted = old & ~*wanted; break;
      case setmask: break;
      default: return Errno::inval;
    }
  }
  if (call.u32(2) != 0) CLOCHE_TRY(call.memory.write(call.u32(2), old.bits()));
  if (wanted) {
    signals.mask = *wanted;
    (void)call.task.attend();
  }
  return 0;
}

SysResult rt_sigpending(Call& call) REQUIRES(kernel_lock) {
  if (call.u32(1) > sigset_bytes) return Errno::inval;
  const SignalSet pending = call.process.signals.pending() & call.process.signals.mask;
  CLOCHE_TRY(call.memory.write(call.u32(0), pending.bits()));
  return 0;
}

SysResult rt_sigsuspend(Call& call) REQUIRES(kernel_lock) {
  if (call.u32(1) != sigset_bytes) return Errno::inval;
  CLOCHE_ASSIGN(const std::uint64_t bits, call.memory.read<std::uint64_t>(call.u32(0)));
  SignalState& signals = call.process.signals;
  if (!signals.saved_mask) signals.saved_mask = signals.mask;
  signals.mask = SignalSet(bits) & ~unblockable;
  for (;;) {
    const Result<void> woken = call.task.block({});
    if (!woken) return woken.error() == Errno::restart ? Errno::intr : woken.error();
  }
}

SysResult rt_sigtimedwait(Call& call) REQUIRES(kernel_lock) {
  if (call.u32(3) != sigset_bytes) return Errno::inval;
  CLOCHE_ASSIGN(const std::uint64_t bits, call.memory.read<std::uint64_t>(call.u32(0)));
  const SignalSet wanted = SignalSet(bits) & ~unblockable;
  CLOCHE_ASSIGN(const Deadline deadline, read_timeout(call, call.u32(2)));
  SignalState& signals = call.process.signals;
  for (;;) {
    if (const auto info = signals.dequeue(wanted)) {
      if (call.u32(1) != 0) CLOCHE_TRY(call.memory.write(call.u32(1), guest_info(*info)));
      return info->signo;
    }
    const Result<void> woken = call.task.block({&call.process.signals_changed}, deadline);
    if (woken) continue;
    if (woken.error() == Errno::timedout) return Errno::again;
    return woken.error() == Errno::restart ? Errno::intr : woken.error();
  }
}

SysResult kill(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_TRY(call.kernel.kill(call.process, call.i32(0), from_sender(call, call.i32(1), si_user)));
  return 0;
}

SysResult kill_one(Call& call, Pid pid, const SignalInfo& info) REQUIRES(kernel_lock) {
  if (pid <= 0) return Errno::inval;
  if (info.signo != 0 && !valid_signal(info.signo)) return Errno::inval;
  const ProcessPtr target = call.kernel.find(pid);
  if (!target) return Errno::srch;
  if (info.signo != 0) CLOCHE_TRY(call.kernel.post(*target, info));
  return 0;
}

SysResult tkill(Call& call) REQUIRES(kernel_lock) {
  return kill_one(call, call.i32(0), from_sender(call, call.i32(1), si_tkill));
}

SysResult tgkill(Call& call) REQUIRES(kernel_lock) {
  if (call.i32(0) != call.i32(1)) return Errno::srch;
  return kill_one(call, call.i32(1), from_sender(call, call.i32(2), si_tkill));
}

SysResult queue_info(Call& call, Pid pid, int signo, std::uint32_t info_at) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const GuestInfo given, call.memory.read<GuestInfo>(info_at));
  // Only the kernel's own codes are >= 0: nobody forges those for another process.
  if ((given.code >= 0 || given.code == si_tkill) && pid != call.process.pid()) return Errno::perm;
  return kill_one(call, pid,
                  {.signo = signo,
                   .code = given.code,
                   .pid = given.pid,
                   .uid = given.uid,
                   .value = given.status_or_value});
}

SysResult rt_sigqueueinfo(Call& call) REQUIRES(kernel_lock) {
  return queue_info(call, call.i32(0), call.i32(1), call.u32(2));
}

SysResult rt_tgsigqueueinfo(Call& call) REQUIRES(kernel_lock) {
  if (call.i32(0) != call.i32(1)) return Errno::srch;
  return queue_info(call, call.i32(1), call.i32(2), call.u32(3));
}

// Handlers run on the one stack that a guest has: an alternate stack is noted and reported as
// disabled.
SysResult sigaltstack(Call& call) {
  struct GuestStack {
    std::uint32_t sp;
    std::int32_t flags;
    std::uint32_t size;
  };
  constexpr std::int32_t ss_disable = 2;
  if (call.u32(0) != 0 && !call.memory.holds(call.u32(0), sizeof(GuestStack))) return Errno::fault;
  if (call.u32(1) != 0) CLOCHE_TRY(call.memory.write(call.u32(1), GuestStack{0, ss_disable, 0}));
  return 0;
}

SysResult signal_next(Call& call) REQUIRES(kernel_lock) {
  Process& process = call.task.owner();
  SignalState& signals = process.signals;
  SignalSet handled;
  for (std::uint64_t bits = signals.deliverable().bits(); bits != 0; bits &= bits - 1) {
    const int signo = __builtin_ctzll(bits) + 1;
    if (signals.has_handler(signo)) handled.add(signo);
  }
  const std::uint32_t out = call.u32(0);
  if (!call.memory.holds(out, sizeof(Delivery))) return Errno::fault;
  const std::optional<SignalInfo> info =
      &process == &call.process ? signals.dequeue(handled) : std::nullopt;
  if (!info) {
    if (const auto word = call.task.pending_word())
      CLOCHE_TRY(call.memory.write<std::uint32_t>(*word, 0));
    return 0;
  }
  Disposition& disposition = signals.disposition(info->signo);
  Delivery delivery{};
  delivery.signo = info->signo;
  delivery.handler = disposition.handler;
  delivery.flags = disposition.flags;
  delivery.restore_mask =
      std::exchange(signals.saved_mask, std::nullopt).value_or(signals.mask).bits();
  delivery.code = info->code;
  delivery.pid = info->pid;
  delivery.uid = info->uid;
  delivery.status = info->status;
  delivery.info = guest_info(*info);
  signals.mask = signals.mask | disposition.mask;
  if ((disposition.flags & sa_nodefer) == 0) signals.mask.add(info->signo);
  if ((disposition.flags & sa_resethand) != 0) disposition = {};
  CLOCHE_TRY(call.memory.write(out, delivery));
  return 1;
}

SysResult signal_return(Call& call) REQUIRES(kernel_lock) {
  call.process.signals.mask = SignalSet(call.u64(0)) & ~unblockable;
  (void)call.task.attend();
  return 0;
}

constexpr std::array signal_entries{
    Entry{129, "kill", 2, kill},
    Entry{130, "tkill", 2, tkill, Support::partial, "the thread is the process"},
    Entry{131, "tgkill", 3, tgkill, Support::partial, "the thread is the process"},
    Entry{132, "sigaltstack", 2, sigaltstack},
    Entry{133, "rt_sigsuspend", 2, rt_sigsuspend},
    Entry{134, "rt_sigaction", 4, rt_sigaction},
    Entry{135, "rt_sigprocmask", 4, rt_sigprocmask},
    Entry{136, "rt_sigpending", 2, rt_sigpending},
    Entry{138, "rt_sigqueueinfo", 3, rt_sigqueueinfo},
    Entry{240, "rt_tgsigqueueinfo", 4, rt_tgsigqueueinfo},
    Entry{421, "rt_sigtimedwait_time64", 4, rt_sigtimedwait},
    Entry{0x1002, "signal_next", 1, signal_next, Support::own,
          "the next signal that has a handler"},
    Entry{0x1003, "signal_return", 2, signal_return, Support::own, "sets the signal mask back"},
};

}  // namespace

std::span<const Entry> signal_calls() { return signal_entries; }

}  // namespace cloche::kernel::lnx
