// SPDX-License-Identifier: Apache-2.0
// TemporaryMask: the signal mask that ppoll, pselect and epoll_pwait set for the time of their
// wait.
//
// A wait that a signal interrupts leaves the mask in place: the handler runs under it, and takes
// the old one back when it returns.
#pragma once

#include "kernel/linux/call.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel::lnx {

class TemporaryMask {
 public:
  TemporaryMask(const TemporaryMask&) = delete;
  TemporaryMask& operator=(const TemporaryMask&) = delete;
  TemporaryMask(TemporaryMask&& other) noexcept
      : process_(std::exchange(other.process_, nullptr)) {}
  TemporaryMask& operator=(TemporaryMask&&) = delete;
  ~TemporaryMask() {
    if (process_ == nullptr || !process_->signals.saved_mask) return;
    process_->signals.mask = *process_->signals.saved_mask;
    process_->signals.saved_mask.reset();
  }

  // Does nothing for a null address; EINVAL for a set of another size.
  static Result<TemporaryMask> set(const Call& call, std::uint32_t address, std::uint32_t size)
      REQUIRES(kernel_lock) {
    if (address == 0) return TemporaryMask(nullptr);
    if (size != sizeof(std::uint64_t)) return Errno::inval;
    CLOCHE_ASSIGN(const std::uint64_t bits, call.memory.read<std::uint64_t>(address));
    SignalState& signals = call.process.signals;
    if (!signals.saved_mask) signals.saved_mask = signals.mask;
    signals.mask = SignalSet(bits) & ~unblockable;
    return TemporaryMask(&call.process);
  }

  // What a wait that ended with `error` returns: an interrupted one EINTR, and the mask stays.
  Errno end(Errno error) noexcept {
    if (error != Errno::restart && error != Errno::intr) return error;
    process_ = nullptr;
    return Errno::intr;
  }

 private:
  explicit TemporaryMask(Process* process) : process_(process) {}

  Process* process_;
};

}  // namespace cloche::kernel::lnx
