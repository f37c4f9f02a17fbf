// SPDX-License-Identifier: Apache-2.0
// PythonTurn: where several clients use one Python they take turns.
#pragma once

#include <memory>
#include <mutex>

#include "base/timed_mutex.h"
#include "doors/rpc/methods.h"

namespace cloche::rpc {

class PythonTurn {
 public:
  // Waits for the turn. Throws RpcError where the request is cancelled first.
  explicit PythonTurn(Call& call)
      : subject_(call.subject()),
        queue_(*call.queue),
        lock_(subject_->python_turn(), std::defer_lock) {
    constexpr std::chrono::milliseconds look_again{20};
    while (!lock_.try_lock_for(look_again)) {
      if (queue_.is_cancelled())
        throw RpcError{code::sandbox_error, "ECANCELED: the request was cancelled"};
    }
    queue_.set_python_turn(true);
  }
  ~PythonTurn() { queue_.set_python_turn(false); }
  PythonTurn(const PythonTurn&) = delete;
  PythonTurn& operator=(const PythonTurn&) = delete;

 private:
  const std::shared_ptr<Subject> subject_;
  SandboxQueue& queue_;
  std::unique_lock<TimedMutex> lock_;
};

}  // namespace cloche::rpc
