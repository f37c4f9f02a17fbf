// SPDX-License-Identifier: Apache-2.0
#include "sandbox/live_sandbox.h"

#include <utility>

namespace cloche::sandbox {
namespace {

// Who holds the Python alone keeps the sandbox, too: it goes last.
struct Both {
  explicit Both(std::unique_ptr<Sandbox> made) : sandbox(std::move(made)), python(*sandbox) {}
  const std::unique_ptr<Sandbox> sandbox;
  PythonSession python;
};

}  // namespace

LiveSandbox make_live_sandbox(std::unique_ptr<Sandbox> sandbox) {
  const auto both = std::make_shared<Both>(std::move(sandbox));
  LiveSandbox live;
  live.sandbox = std::shared_ptr<Sandbox>(both, both->sandbox.get());
  live.python = std::shared_ptr<PythonSession>(both, &both->python);
  return live;
}

LiveSandbox fork_live_sandbox(const LiveSandbox& live) {
  // The session brings the fork of its sandbox with it.
  std::shared_ptr<PythonSession> python = live.python->fork();
  LiveSandbox twin;
  twin.sandbox = std::shared_ptr<Sandbox>(python, &python->sandbox());
  twin.python = std::move(python);
  return twin;
}

}  // namespace cloche::sandbox
