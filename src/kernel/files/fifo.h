// SPDX-License-Identifier: Apache-2.0
// FifoTable: the fifos of one kernel that are open. A fifo is a name in the file system; its pipe
// exists from the first open to the last close. Kernel lock held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/files/pipe.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Kernel;
class Task;

class FifoTable {
 public:
  explicit FifoTable(Kernel& kernel) : kernel_(kernel) {}
  FifoTable(const FifoTable&) = delete;
  FifoTable& operator=(const FifoTable&) = delete;

  // Opens the fifo as open(2) does, after the permission check: an open for reading waits for a
  // writer and the other way round; with O_NONBLOCK reading opens at once and writing is ENXIO
  // without a reader; O_RDWR never waits. Errno::restart when interrupted: then it is as if nothing
  // had been opened. `flags`: access mode and status flags.
  Result<FilePtr> open(Task& task, const vfs::Node& node, std::uint32_t flags)
      REQUIRES(kernel_lock);

 private:
  std::shared_ptr<Pipe> pipe_of(const vfs::Node& node) REQUIRES(kernel_lock);

  Kernel& kernel_;
  // By file system and inode; the PipeFile holds the Node, so a live pipe's key is not reused.
  std::map<std::pair<const vfs::FileSystem*, vfs::Ino>, std::weak_ptr<Pipe>> pipes_;
};

}  // namespace cloche::kernel
