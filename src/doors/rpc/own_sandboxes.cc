// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/own_sandboxes.h"

#include <utility>

#include "base/mutex.h"
#include "base/timed_mutex.h"
#include "doors/rpc/methods.h"

namespace cloche::rpc {
namespace {

class OwnSubject final : public Subject {
 public:
  explicit OwnSubject(LiveSandbox live) : live_(std::move(live)) {}

  LiveSandbox live() override {
    const MutexLock lock(mutex_);
    return live_;
  }
  void replace(LiveSandbox live) override {
    {
      const MutexLock lock(mutex_);
      std::swap(live_, live);
    }
    // What was there ends here and not under the lock: it may have processes.
  }
  void cancel(Runs runs) override {
    const LiveSandbox live = this->live();
    if (!live) return;
    if (runs == Runs::processes) live.sandbox->cancel();
    if (runs == Runs::python && live.python) live.python->cancel();
  }
  TimedMutex& python_turn() override { return python_turn_; }

 private:
  Mutex mutex_;
  LiveSandbox live_ GUARDED_BY(mutex_);
  TimedMutex python_turn_;
};

}  // namespace

Backend::Made OwnSandboxes::create(Connection& connection, const Params& params) {
  return {
      std::make_shared<OwnSubject>(sandbox::make_live_sandbox(create_sandbox(connection, params)))};
}

Backend::Made OwnSandboxes::fork(Subject& subject) {
  return {std::make_shared<OwnSubject>(sandbox::fork_live_sandbox(subject.live()))};
}

Engine& OwnSandboxes::engine(Connection& connection) {
  std::call_once(engine_once_, [&] { engine_ = make_engine_(connection); });
  return *engine_;
}

}  // namespace cloche::rpc
