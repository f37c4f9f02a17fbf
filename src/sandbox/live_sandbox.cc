// SPDX-License-Identifier: Apache-2.0
#include "sandbox/live_sandbox.h"

#include <utility>

#include "base/error.h"

namespace cloche::sandbox {

PythonSession& LiveSandbox::interpreter() const {
  if (!python)
    throw request_error("a linux sandbox has no such Python: run python3 as a command",
                        Errno::notsup);
  return *python;
}

LiveSandbox make_live_sandbox(std::unique_ptr<Sandbox> sandbox) {
  LiveSandbox live;
  live.sandbox = std::move(sandbox);
  if (live.sandbox->options().engine == EngineKind::wasm)
    live.python = std::make_shared<PythonSession>(*live.sandbox);
  return live;
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

}  // namespace cloche::sandbox
