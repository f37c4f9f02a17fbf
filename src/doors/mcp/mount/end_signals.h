// SPDX-License-Identifier: Apache-2.0
// EndSignals: something is done before this process ends by SIGTERM, SIGINT or SIGHUP, on a thread
// of its own.
#pragma once

#include <functional>
#include <memory>

#include "base/mutex.h"

namespace cloche::mcp::mount {

class EndSignals {
 public:
  // To be made before any other thread, for the life of the process.
  EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // What is done first from now on. Then the signal ends the process, as it does anyway.
  void set(std::function<void()> first);

 private:
  struct State {
    Mutex mutex;
    std::function<void()> first GUARDED_BY(mutex);
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace cloche::mcp::mount
