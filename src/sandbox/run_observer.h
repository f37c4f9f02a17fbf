// SPDX-License-Identifier: Apache-2.0
// RunObserver: whoever watches a sandbox, and how runs are told to them. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "cloche/observer.h"

namespace cloche::sandbox {

class RunObserver {
 public:
  // Instead of the one before, which may be told of what is in progress now.
  void set(SandboxObserver observer);
  void tell(const NetworkEvent& event) const;

  // A run: told at its begin, and by `end`. Nothing where nobody watches.
  class Told {
   public:
    void end(int exit_code, std::string_view reason, std::chrono::nanoseconds duration) const;

   private:
    friend class RunObserver;
    std::shared_ptr<const SandboxObserver> observer_;  // null: nobody watches
    RunEvent event_;
    std::string text_;
  };
  Told begin(RunEvent::Kind kind, std::string text);
  bool is_watched() const { return observer() != nullptr; }

 private:
  std::shared_ptr<const SandboxObserver> observer() const;

  mutable Mutex mutex_;
  std::shared_ptr<const SandboxObserver> observer_ GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> last_ = 0;
};

}  // namespace cloche::sandbox
