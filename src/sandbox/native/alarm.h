// SPDX-License-Identifier: Apache-2.0
// Alarm: a timer of its owner's, which is over before anything else of its owner's is.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "kernel/time/timer_thread.h"

namespace cloche::sandbox {

class Alarm {
 public:
  explicit Alarm(kernel::TimerThread& timers) : timers_(timers) {}
  ~Alarm() {
    if (id_ != 0 && !timers_.cancel(id_)) timers_.drain(this);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // `callback` runs on the timers' thread: see there. Again only from the callback itself, and not
  // while this is being destroyed.
  void set(kernel::TimerThread::Time when, std::function<void()> callback) {
    id_ = timers_.add(when, this, std::move(callback));
  }

 private:
  kernel::TimerThread& timers_;
  std::atomic<kernel::TimerThread::Id> id_ = 0;
};

}  // namespace cloche::sandbox
