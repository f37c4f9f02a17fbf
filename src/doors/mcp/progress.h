// SPDX-License-Identifier: Apache-2.0
// Progress: tells how long a call has been running, and the last line that it wrote: each half
// second while it runs. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "session/timers.h"

namespace cloche::mcp {

class Progress {
 public:
  using Tell = std::function<void(double seconds, const std::string& line)>;

  // `tell` null: nobody wants to know. It must be quick and must not throw.
  Progress(session::Timers& timers, Tell tell);
  // From here on nothing is told.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Output as it is written.
  void note(std::string_view data);

 private:
  void arm() REQUIRES(mutex_);
  void tick();

  session::Timers& timers_;
  const Tell tell_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Mutex mutex_;
  bool ended_ GUARDED_BY(mutex_) = false;
  session::Timers::Id timer_ GUARDED_BY(mutex_){};
  std::string line_ GUARDED_BY(mutex_);  // the last one that has something in it
  bool line_ends_ GUARDED_BY(mutex_) = true;
};

}  // namespace cloche::mcp
