// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/poll_set.h"

#include "kernel/files/epoll.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"

namespace cloche::kernel {

std::size_t PollSet::look() {
  const EpollLook all;
  std::size_t count = 0;
  for (Entry& entry : entries_) {
    entry.ready = entry.file->poll() & (entry.events | pollerr | pollhup);
    if (entry.ready != 0) ++count;
  }
  return count;
}

Result<std::size_t> PollSet::wait(Task& task, Deadline deadline) {
  for (;;) {
    if (const std::size_t count = look(); count != 0) return count;
    if (deadline && *deadline <= task.kernel().clock().steady()) return std::size_t{0};
    PollSources sources;
    {
      const EpollLook all;
      for (const Entry& entry : entries_) entry.file->poll_sources(sources);
    }
    if (deadline) sources.add(*deadline);
    const Result<void> slept = task.block(sources.queues, sources.deadline);
    if (!slept && slept.error() != Errno::timedout) return slept.error();
  }
}

}  // namespace cloche::kernel
