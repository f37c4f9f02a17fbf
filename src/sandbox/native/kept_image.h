// SPDX-License-Identifier: Apache-2.0
// KeptImage: the image that an interpreter has written last, for further forks while it does
// nothing else. It goes with the next thing that the interpreter is asked, and where no fork wants
// it for `rest`; one that is larger than `most_bytes` is not kept.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "base/unique_fd.h"
#include "kernel/time/timer_thread.h"

namespace cloche::sandbox {

using SharedFile = std::shared_ptr<const UniqueFd>;

class KeptImage {
 public:
  static constexpr std::chrono::seconds rest{20};
  static constexpr std::uint64_t most_bytes = 256 << 20;

  explicit KeptImage(kernel::TimerThread& timers) : timers_(timers) {}
  ~KeptImage() { timers_.drain(this); }
  KeptImage(const KeptImage&) = delete;
  KeptImage& operator=(const KeptImage&) = delete;

  // Null: there is none.
  SharedFile get() const;
  // In place of what there was; for `rest` from now.
  void keep(SharedFile image);
  void forget();

 private:
  SharedFile let_go() REQUIRES(mutex_);

  kernel::TimerThread& timers_;
  mutable Mutex mutex_;
  SharedFile image_ GUARDED_BY(mutex_);
  kernel::TimerThread::Id timer_ GUARDED_BY(mutex_) = 0;
  std::uint64_t times_ GUARDED_BY(mutex_) = 0;  // that something was let go
};

}  // namespace cloche::sandbox
