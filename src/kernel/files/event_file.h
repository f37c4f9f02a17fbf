// SPDX-License-Identifier: Apache-2.0
// EventFile: eventfd(2), a counter that one can wait for. Kernel lock held.
#pragma once

#include <cstdint>

#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class EventFile : public File {
 public:
  enum class Mode { counter, semaphore };  // a read takes all, or 1

  EventFile(std::uint64_t id, std::uint32_t initial, Mode mode, std::uint32_t status_flags)
      : File(o_rdwr | status_flags), id_(id), count_(initial), mode_(mode) {}

  // Eight bytes, the host's order; EINVAL for less.
  Result<std::size_t> read(Task& task, std::span<std::byte> to) override REQUIRES(kernel_lock);
  Result<std::size_t> write(Task& task, std::span<const std::byte> from) override
      REQUIRES(kernel_lock);
  PollEvents poll() override REQUIRES(kernel_lock);
  WaitQueue* poll_queue() override REQUIRES(kernel_lock) { return &changed_; }
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock);
  std::string description() const override REQUIRES(kernel_lock) { return "anon_inode:[eventfd]"; }

 private:
  std::uint64_t id_;
  std::uint64_t count_;
  Mode mode_;
  WaitQueue changed_;
};

}  // namespace cloche::kernel
