// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/own_sandboxes.h"

#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"
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
    if (runs == Runs::commands) live.sandbox->cancel();
    if (runs == Runs::python && live.python) live.python->cancel();
  }
  std::timed_mutex& python_turn() override { return python_turn_; }

 private:
  Mutex mutex_;
  LiveSandbox live_ GUARDED_BY(mutex_);
  std::timed_mutex python_turn_;
};

}  // namespace

LiveSandbox make_live_sandbox(std::unique_ptr<Sandbox> sandbox) {
  LiveSandbox live;
  live.sandbox = std::move(sandbox);
  if (live.sandbox->options().engine == EngineKind::wasm)
    live.python = std::make_shared<PythonSession>(*live.sandbox);
  return live;
}

PythonSession& LiveSandbox::interpreter() const {
  if (!python)
    throw request_error("a linux sandbox has no such Python yet: run python3 as a command",
                        Errno::notsup);
  return *python;
}

LiveSandbox fork_live_sandbox(const LiveSandbox& live) {
  if (!live.python) return make_live_sandbox(live.sandbox->fork());
  // The session brings the fork of its sandbox with it.
  std::shared_ptr<PythonSession> python = live.python->fork();
  LiveSandbox twin;
  twin.sandbox = std::shared_ptr<Sandbox>(python, &python->sandbox());
  twin.python = std::move(python);
  return twin;
}

Backend::Made OwnSandboxes::create(Connection& connection, const Params& params) {
  return {std::make_shared<OwnSubject>(make_live_sandbox(create_sandbox(connection, params)))};
}

Backend::Made OwnSandboxes::fork(Subject& subject) {
  return {std::make_shared<OwnSubject>(fork_live_sandbox(subject.live()))};
}

Engine& OwnSandboxes::engine(Connection& connection) {
  std::call_once(engine_once_, [&] { engine_ = make_engine_(connection); });
  return *engine_;
}

}  // namespace cloche::rpc
