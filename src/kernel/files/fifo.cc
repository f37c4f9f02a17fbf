// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/fifo.h"

#include "kernel/kernel.h"
#include "kernel/process/task.h"

namespace cloche::kernel {

std::shared_ptr<Pipe> FifoTable::pipe_of(const vfs::Node& node) {
  std::erase_if(pipes_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Pipe>& entry = pipes_[{&node.fs(), node.ino()}];
  std::shared_ptr<Pipe> pipe = entry.lock();
  if (!pipe) {
    pipe = std::make_shared<Pipe>(kernel_.buffers(), kernel_.next_file_id());
    entry = pipe;
  }
  return pipe;
}

Result<FilePtr> FifoTable::open(Task& task, const vfs::Node& node, std::uint32_t flags) {
  const std::uint32_t access = flags & o_accmode;
  if (access > o_rdwr) return Errno::inval;
  const std::shared_ptr<Pipe> pipe = pipe_of(node);
  const bool nonblocking = (flags & o_nonblock) != 0;
  if (access == o_wronly && nonblocking && pipe->readers() == 0) return Errno::nxio;

  // This end is open during the wait: it is what the other side waits for.
  const auto file = std::make_shared<PipeFile>(pipe, flags, node);
  if (access == o_rdwr || nonblocking) return FilePtr(file);
  const bool for_reading = access == o_rdonly;
  const std::uint64_t came_before = for_reading ? pipe->writers_ever() : pipe->readers_ever();
  const auto met = [&] {
    // A partner that came and went during the sleep counts as well.
    return for_reading ? pipe->writers() != 0 || pipe->writers_ever() != came_before
                       : pipe->readers() != 0 || pipe->readers_ever() != came_before;
  };
  while (!met()) {
    const Result<void> woken = task.block({&pipe->opened});
    // A signal may come together with the partner, such as SIGCHLD of a child that wrote and has
    // ended. The two have met then.
    if (!woken && !met()) return woken.error();
  }
  return FilePtr(file);
}

}  // namespace cloche::kernel
