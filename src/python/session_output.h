// SPDX-License-Identifier: Apache-2.0
// SessionOutput: stdout or stderr of a session, of which each execution has its part: kept up to a
// limit, or passed on as it is written. It looks like a pipe to the guest, and to its children.
//
// Threads: begin and take are called without the kernel lock.
#pragma once

#include <functional>
#include <string>

#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {
class Kernel;
}

namespace cloche::python {

class SessionOutput final : public kernel::File {
 public:
  struct Plan {
    std::uint64_t limit_bytes = 0;
    // Gets what is written, up to the limit, in order, on the writer's thread without the kernel
    // lock; the writer waits. Must not throw. Empty: it is kept.
    std::function<void(std::string_view)> sink = {};
    // Called once, without the kernel lock, when more than the limit is written.
    std::function<void()> over_limit = {};
  };
  struct Written {
    std::string bytes;
    bool truncated = false;
  };

  explicit SessionOutput(kernel::Kernel& kernel) : File(kernel::o_wronly), kernel_(kernel) {}

  void begin(Plan plan) EXCLUDES(kernel::kernel_lock);
  // Since begin, or written by a child since the execution before; takes it.
  Written take() EXCLUDES(kernel::kernel_lock);

  Result<std::size_t> write(kernel::Task& task, std::span<const std::byte> from) override
      REQUIRES(kernel::kernel_lock);
  kernel::WaitQueue* poll_queue() override REQUIRES(kernel::kernel_lock) { return &idle_; }
  Result<vfs::Stat> stat() override REQUIRES(kernel::kernel_lock);
  std::string description() const override REQUIRES(kernel::kernel_lock);

 private:
  kernel::Kernel& kernel_;
  Plan plan_ GUARDED_BY(kernel::kernel_lock){.limit_bytes = std::uint64_t{1}
                                                            << 20};  // until the first begin
  std::uint64_t id_ GUARDED_BY(kernel::kernel_lock) = 0;
  std::uint64_t written_ GUARDED_BY(kernel::kernel_lock) = 0;
  Written output_ GUARDED_BY(kernel::kernel_lock);
  bool passing_on_ GUARDED_BY(kernel::kernel_lock) = false;
  kernel::WaitQueue idle_ GUARDED_BY(kernel::kernel_lock);
};

}  // namespace cloche::python
