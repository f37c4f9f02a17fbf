// SPDX-License-Identifier: Apache-2.0
// ShellRuns: whether runs of a sandbox's kept shell may go on. Thread-safe.
#pragma once

#include <cstddef>
#include <stop_token>
#include <utility>

#include "base/mutex.h"
#include "cloche/run.h"

namespace cloche::sandbox {

class ShellRuns {
 public:
  // From now on runs end, those in progress and those that begin, until each `end` has its `allow`.
  void end() {
    std::stop_source ends;
    {
      const MutexLock lock(mutex_);
      ++ended_;
      ends = ends_;
    }
    // Without the lock: it calls what ends them.
    ends.request_stop();
  }
  void allow() {
    const MutexLock lock(mutex_);
    if (--ended_ == 0) ends_ = std::stop_source();
  }

  // Does `run`, whose options say by `stop` when it is to end.
  template <typename Run>
  RunResult perform(RunOptions options, Run run) const {
    std::stop_source stop;
    const auto pass_on = [&stop] { stop.request_stop(); };
    const std::stop_callback by_caller(std::exchange(options.stop, stop.get_token()), pass_on);
    const std::stop_callback by_end(token(), pass_on);
    return run(std::as_const(options));
  }

 private:
  std::stop_token token() const {
    const MutexLock lock(mutex_);
    return ends_.get_token();
  }

  mutable Mutex mutex_;
  std::stop_source ends_ GUARDED_BY(mutex_);
  std::size_t ended_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::sandbox
