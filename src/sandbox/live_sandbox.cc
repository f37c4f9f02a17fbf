// SPDX-License-Identifier: Apache-2.0
#include "sandbox/live_sandbox.h"

#include <utility>

namespace cloche::sandbox {

LiveSandbox make_live_sandbox(std::unique_ptr<Sandbox> sandbox) {
  LiveSandbox live;
  live.sandbox = std::move(sandbox);
  live.python = std::make_shared<PythonSession>(*live.sandbox);
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
