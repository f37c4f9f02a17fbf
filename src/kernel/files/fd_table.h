// SPDX-License-Identifier: Apache-2.0
// The descriptor table of a process. Kernel lock held.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class FdTable {
 public:
  struct Slot {
    FilePtr file;
    bool close_on_exec = false;
  };

  // The file at `fd`, or EBADF. The pointer keeps the description alive over a blocking call.
  Result<FilePtr> get(std::int32_t fd) const;
  // For reads and writes: EBADF also when the access mode forbids it.
  Result<FilePtr> get_readable(std::int32_t fd) const REQUIRES(kernel_lock);
  Result<FilePtr> get_writable(std::int32_t fd) const REQUIRES(kernel_lock);

  // The lowest free descriptor >= `lowest`; EMFILE at the limit.
  Result<std::int32_t> install(FilePtr file, std::uint32_t flags, std::int32_t lowest = 0);
  // Puts `file` at `fd` whatever was there (dup2); EBADF outside of the limit. `flags`: o_cloexec
  // or 0.
  Result<void> install_at(std::int32_t fd, FilePtr file, std::uint32_t flags);
  Result<void> close(std::int32_t fd);
  void close_range(std::uint32_t first, std::uint32_t last);
  void set_close_on_exec_range(std::uint32_t first, std::uint32_t last);
  void close_for_exec();
  void close_all();

  Result<bool> close_on_exec(std::int32_t fd) const;
  Result<void> set_close_on_exec(std::int32_t fd, std::uint32_t cloexec_flag);  // o_cloexec or 0

  // RLIMIT_NOFILE.
  std::uint32_t limit() const noexcept { return limit_; }
  void set_limit(std::uint32_t limit) noexcept { limit_ = limit; }

  // The open descriptors, ascending.
  std::vector<std::int32_t> list() const;
  std::size_t size() const noexcept { return slots_.size(); }

 private:
  bool open_at(std::int32_t fd) const noexcept;
  std::vector<Slot> slots_;
  std::uint32_t limit_ = 1024;
};

}  // namespace cloche::kernel
