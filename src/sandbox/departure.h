// SPDX-License-Identifier: Apache-2.0
// Departure: a fork takes a sandbox's place (Sandbox::begin_to_leave). What ends here once the fork
// has the files is not in it, so that nobody may be told of a success before it is known whether
// the fork came to be.
//
// Thread-safe. One departure at a time.
#pragma once

#include <cstdint>
#include <stop_token>
#include <thread>

#include "base/mutex.h"
#include "base/result.h"
#include "cloche/python_session.h"
#include "cloche/run.h"

namespace cloche::sandbox {

class Departure {
 public:
  // Nothing, but for the stop, after leave(), which is for good.
  void begin();
  // A fork takes the files now; that of the thread which has begun is the one.
  void at_files();
  void stay();
  void leave();

  // Asked to stop by begin() and by leave(): for what a fork waits for.
  std::stop_token begins() const;
  // Asked to stop by leave() alone: for all else.
  std::stop_token leaves() const { return leaves_.get_token(); }

  // Whether what has ended before this call is in the sandbox that goes on. Waits until that is
  // known: with nothing that a fork needs.
  bool counts();
  // What ended well and does not count was cancelled.
  RunResult settled(RunResult result);
  ExecuteResult settled(ExecuteResult result);
  template <typename Value, typename Why>
  Result<Value, Why> settled(Result<Value, Why> result) {
    if (result && !counts()) return Why(Errno::canceled);
    return result;
  }

 private:
  enum class Phase : std::uint8_t { here, leaving, in_doubt, left };

  mutable Mutex mutex_;
  Condition changed_;
  Phase phase_ GUARDED_BY(mutex_) = Phase::here;
  std::thread::id leaver_ GUARDED_BY(mutex_);
  std::stop_source begins_ GUARDED_BY(mutex_);
  std::stop_source leaves_;
};

// How a run ended of which nothing is left.
RunResult cancelled_run(RunResult result);

}  // namespace cloche::sandbox
