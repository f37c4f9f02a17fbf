// SPDX-License-Identifier: Apache-2.0
// ShownFigures: the files of figures that programs of a sandbox have shown (plt.show()), for the
// results of the runs that they belong to. Thread-safe, and free where there are none.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "kernel/process/process.h"

namespace cloche::sandbox {

class ShownFigures {
 public:
  // Beyond that the oldest are forgotten: those of runs that nobody waits for.
  static constexpr std::size_t limit = 256;

  void add(kernel::JobId job, std::string_view path) {
    const MutexLock lock(mutex_);
    if (paths_.size() == limit) paths_.pop_front();
    paths_.push_back({job, std::string(path)});
    count_ = paths_.size();
  }

  // Those of a job, in order; they are its result's from then on.
  std::vector<std::string> take(kernel::JobId job) {
    if (count_ == 0) return {};
    const MutexLock lock(mutex_);
    std::vector<std::string> taken;
    for (Shown& shown : paths_) {
      if (shown.job == job) taken.push_back(std::move(shown.path));
    }
    std::erase_if(paths_, [&](const Shown& shown) { return shown.job == job; });
    count_ = paths_.size();
    return taken;
  }

 private:
  struct Shown {
    kernel::JobId job;
    std::string path;
  };

  Mutex mutex_;
  std::deque<Shown> paths_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace cloche::sandbox
