// SPDX-License-Identifier: Apache-2.0
// TimerFile: timerfd_create(2). It needs no timer of the host: its readers sleep up to its next
// expiry. Kernel lock held.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class TimerFile : public File {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  struct Setting {
    Nanoseconds value{0};  // to the next expiry; 0: disarmed
    Nanoseconds interval{0};
  };

  // `clock`: the guest's CLOCK_* number; what it means is for the caller, who turns moments to
  // steady time.
  TimerFile(Clock& time, std::uint64_t id, std::int32_t clock, std::uint32_t status_flags)
      : File(o_rdwr | status_flags), time_(time), id_(id), clock_(clock) {}

  std::int32_t clock() const noexcept { return clock_; }
  Setting setting() const;
  // `first` empty: disarms.
  void set(std::optional<SteadyTime> first, Nanoseconds interval) REQUIRES(kernel_lock);

  // Eight bytes: how often it has expired since the last read or set.
  Result<std::size_t> read(Task& task, std::span<std::byte> to) override REQUIRES(kernel_lock);
  PollEvents poll() override REQUIRES(kernel_lock);
  void poll_sources(PollSources& sources) override REQUIRES(kernel_lock);
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock);
  std::string description() const override REQUIRES(kernel_lock) { return "anon_inode:[timerfd]"; }

 private:
  // Counts what has expired up to now.
  void advance();

  Clock& time_;
  std::uint64_t id_;
  std::int32_t clock_;
  std::optional<SteadyTime> next_;
  Nanoseconds interval_{0};
  std::uint64_t expirations_ = 0;  // not yet read
  std::uint64_t edges_ = 0;
  WaitQueue changed_;
};

}  // namespace cloche::kernel
