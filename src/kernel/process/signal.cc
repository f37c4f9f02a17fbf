// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/signal.h"

#include <algorithm>

namespace cloche::kernel {

DefaultAction default_action(int signo) noexcept {
  switch (signo) {
    case sigchld:
    case sigurg:
    case sigwinch: return DefaultAction::ignore;
    case sigcont: return DefaultAction::resume;
    case sigstop:
    case sigtstp:
    case sigttin:
    case sigttou: return DefaultAction::stop;
    case sigquit:
    case sigill:
    case sigtrap:
    case sigabrt:
    case sigbus:
    case sigfpe:
    case sigsegv:
    case sigxcpu:
    case sigxfsz:
    case sigsys: return DefaultAction::core;
    default: return DefaultAction::terminate;
  }
}

bool SignalState::ignored(int signo) const noexcept {
  const Disposition& d = disposition(signo);
  return d.handler == Disposition::ign ||
         (d.handler == Disposition::dfl && default_action(signo) == DefaultAction::ignore);
}

bool SignalState::enqueue(const SignalInfo& info) {
  const bool standard = info.signo < sigrtmin;
  if (standard && pending_.has(info.signo)) return true;
  // A standard signal is pending once at most, and SIGKILL must always find room.
  if (!standard && queue_.size() >= max_queued) return false;
  queue_.push_back(info);
  pending_.add(info.signo);
  return true;
}

std::optional<SignalInfo> SignalState::dequeue(SignalSet wanted) {
  auto best = queue_.end();
  for (auto it = queue_.begin(); it != queue_.end(); ++it) {
    if (wanted.has(it->signo) && (best == queue_.end() || it->signo < best->signo)) best = it;
  }
  if (best == queue_.end()) return std::nullopt;
  const SignalInfo info = *best;
  queue_.erase(best);
  const bool more =
      std::ranges::any_of(queue_, [&](const SignalInfo& i) { return i.signo == info.signo; });
  if (!more) pending_.remove(info.signo);
  return info;
}

void SignalState::discard(SignalSet which) {
  std::erase_if(queue_, [&](const SignalInfo& i) { return which.has(i.signo); });
  pending_ = pending_ & ~which;
}

void SignalState::reset_for_exec() noexcept {
  for (Disposition& d : dispositions_) {
    const bool ignored_before = d.handler == Disposition::ign;
    d = Disposition{};
    if (ignored_before) d.handler = Disposition::ign;
  }
}

SignalState SignalState::for_child() const {
  SignalState child;
  child.mask = mask;
  child.dispositions_ = dispositions_;
  return child;
}

}  // namespace cloche::kernel
