// SPDX-License-Identifier: Apache-2.0
// Signals: numbers, sets, dispositions and the queue of one process. Values are Linux's on riscv32.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

namespace cloche::kernel {

enum Signal : int {
  sighup = 1,
  sigint = 2,
  sigquit = 3,
  sigill = 4,
  sigtrap = 5,
  sigabrt = 6,
  sigbus = 7,
  sigfpe = 8,
  sigkill = 9,
  sigusr1 = 10,
  sigsegv = 11,
  sigusr2 = 12,
  sigpipe = 13,
  sigalrm = 14,
  sigterm = 15,
  sigstkflt = 16,
  sigchld = 17,
  sigcont = 18,
  sigstop = 19,
  sigtstp = 20,
  sigttin = 21,
  sigttou = 22,
  sigurg = 23,
  sigxcpu = 24,
  sigxfsz = 25,
  sigvtalrm = 26,
  sigprof = 27,
  sigwinch = 28,
  sigio = 29,
  sigpwr = 30,
  sigsys = 31,
  sigrtmin = 32,
  sigmax = 64,
};

// A set of signals: bit n-1 is signal n.
class SignalSet {
 public:
  constexpr SignalSet() = default;
  constexpr explicit SignalSet(std::uint64_t bits) : bits_(bits) {}
  static constexpr SignalSet of(int signo) { return SignalSet(std::uint64_t{1} << (signo - 1)); }

  constexpr bool has(int signo) const { return (bits_ >> (signo - 1) & 1) != 0; }
  constexpr void add(int signo) { bits_ |= of(signo).bits_; }
  constexpr void remove(int signo) { bits_ &= ~of(signo).bits_; }
  constexpr std::uint64_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr SignalSet operator|(SignalSet a, SignalSet b) {
    return SignalSet(a.bits_ | b.bits_);
  }
  friend constexpr SignalSet operator&(SignalSet a, SignalSet b) {
    return SignalSet(a.bits_ & b.bits_);
  }
  friend constexpr SignalSet operator~(SignalSet a) { return SignalSet(~a.bits_); }

 private:
  std::uint64_t bits_ = 0;
};

inline constexpr SignalSet unblockable =
    SignalSet(SignalSet::of(sigkill).bits() | SignalSet::of(sigstop).bits());
inline constexpr SignalSet stop_signals =
    SignalSet(SignalSet::of(sigstop).bits() | SignalSet::of(sigtstp).bits() |
              SignalSet::of(sigttin).bits() | SignalSet::of(sigttou).bits());

// sigaction(2). `handler` is an index of the guest's function table; 0 and 1 are SIG_DFL and
// SIG_IGN.
struct Disposition {
  static constexpr std::uint32_t dfl = 0;
  static constexpr std::uint32_t ign = 1;
  std::uint32_t handler = dfl;
  std::uint32_t flags = 0;
  SignalSet mask;
};

inline constexpr std::uint32_t sa_nocldstop = 1, sa_nocldwait = 2, sa_siginfo = 4,
                               sa_restart = 0x10000000, sa_nodefer = 0x40000000,
                               sa_resethand = 0x80000000;

// si_code values.
inline constexpr int si_user = 0, si_kernel = 0x80, si_queue = -1, si_timer = -2, si_tkill = -6,
                     cld_exited = 1, cld_killed = 2, cld_dumped = 3, cld_stopped = 5,
                     cld_continued = 6;

struct SignalInfo {
  int signo = 0;
  int code = si_user;
  std::int32_t pid = 0;
  std::uint32_t uid = 0;
  std::int32_t status = 0;  // SIGCHLD: exit status or signal; timers: the timer's id
  std::uint32_t value = 0;  // sigqueue's and timers' value
};

enum class DefaultAction { terminate, core, ignore, stop, resume };
DefaultAction default_action(int signo) noexcept;

// The signals of one process. Pending standard signals are queued once, real-time ones up to
// `max_queued`.
class SignalState {
 public:
  static constexpr std::size_t max_queued = 1024;

  SignalSet mask;
  // The mask to set back when sigsuspend, ppoll and pselect end; the first handler's restore mask
  // takes it.
  std::optional<SignalSet> saved_mask;

  const Disposition& disposition(int signo) const { return dispositions_[index(signo)]; }
  Disposition& disposition(int signo) { return dispositions_[index(signo)]; }

  bool ignored(int signo) const noexcept;
  bool has_handler(int signo) const noexcept {
    return disposition(signo).handler > Disposition::ign;
  }

  // False when the queue of real-time signals is full.
  bool enqueue(const SignalInfo& info);
  SignalSet pending() const noexcept { return pending_; }
  SignalSet deliverable() const noexcept { return pending_ & ~(mask & ~unblockable); }
  // Takes the next signal out of `wanted`: the lowest number first, as Linux does.
  std::optional<SignalInfo> dequeue(SignalSet wanted);
  void discard(SignalSet which);

  // exec: handlers become default, ignored ones stay ignored; pending and mask stay.
  void reset_for_exec() noexcept;
  // clone: dispositions and mask are inherited, pending signals are not.
  SignalState for_child() const;

 private:
  static std::size_t index(int signo) { return static_cast<std::size_t>(signo - 1); }
  std::array<Disposition, sigmax> dispositions_{};
  SignalSet pending_;
  std::deque<SignalInfo> queue_;
};

inline constexpr bool valid_signal(int signo) noexcept { return signo >= 1 && signo <= sigmax; }

}  // namespace cloche::kernel
