// SPDX-License-Identifier: Apache-2.0
// PollSet: waits until one of some files is ready: poll, select, and the waits of WASI. Kernel lock
// held.
//
//   PollSet set;
//   set.add(file, pollin);
//   CLOCHE_ASSIGN(const std::size_t ready, set.wait(task, deadline));   // 0: the deadline passed
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Task;

class PollSet {
 public:
  // `events`: what is asked for; POLLERR and POLLHUP are always told. The set holds the file.
  void add(FilePtr file, PollEvents events) { entries_.push_back({std::move(file), events, 0}); }

  // How many are ready; 0 when the deadline has passed. Looks once, also with a deadline in the
  // past. Errno::restart: interrupted.
  Result<std::size_t> wait(Task& task, Deadline deadline) REQUIRES(kernel_lock);

  // What was ready of the entry, in the order of add().
  PollEvents ready(std::size_t index) const { return entries_[index].ready; }

 private:
  struct Entry {
    FilePtr file;
    PollEvents events;
    PollEvents ready;
  };

  std::size_t look() REQUIRES(kernel_lock);

  std::vector<Entry> entries_;
};

}  // namespace cloche::kernel
