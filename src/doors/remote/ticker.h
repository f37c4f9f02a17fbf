// SPDX-License-Identifier: Apache-2.0
// Ticker: calls functions again and again, each at its own interval, on one thread that is there
// while there is something to call. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>

#include "base/mutex.h"
#include "session/timers.h"

namespace cloche::remote {

class Ticker {
 public:
  using Id = std::uint64_t;

  Ticker() = default;
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // The first call is at once. `call` should be quick, and must not throw.
  Id add(std::chrono::milliseconds interval, std::function<void()> call);
  // It is not called any more, and no call of it is in progress. Not from a call.
  void remove(Id id);

 private:
  struct Entry {
    std::chrono::milliseconds interval;
    std::function<void()> call;
    session::Timers::Id timer;
  };
  void arm(Id id, Entry& entry, session::Timers::Time when);
  void tick(Id id);

  Mutex mutex_;
  std::map<Id, Entry> entries_ GUARDED_BY(mutex_);
  Id last_ GUARDED_BY(mutex_) = 0;
  session::Timers timers_;  // goes first: nothing is called after it
};

}  // namespace cloche::remote
