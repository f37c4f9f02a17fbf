// SPDX-License-Identifier: Apache-2.0
// LiveSandbox: a sandbox and its Python, as doors hold them. Copies share both; what holds a copy
// keeps them there.
#pragma once

#include <memory>

#include "cloche/python_session.h"
#include "cloche/sandbox.h"

namespace cloche::sandbox {

struct LiveSandbox {
  LiveSandbox() = default;
  LiveSandbox(const LiveSandbox&) = default;
  LiveSandbox(LiveSandbox&&) noexcept = default;
  // What was here goes by the destructor: member by member the sandbox would go first.
  LiveSandbox& operator=(LiveSandbox other) noexcept {
    sandbox.swap(other.sandbox);
    python.swap(other.python);
    return *this;
  }
  ~LiveSandbox() = default;

  std::shared_ptr<Sandbox> sandbox;
  std::shared_ptr<PythonSession> python;  // goes before the sandbox

  explicit operator bool() const noexcept { return sandbox != nullptr; }
};

LiveSandbox make_live_sandbox(std::unique_ptr<Sandbox> sandbox);
// An independent one that goes on from here, Python and shell too. Throws Error.
LiveSandbox fork_live_sandbox(const LiveSandbox& live);

}  // namespace cloche::sandbox
