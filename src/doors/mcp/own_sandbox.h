// SPDX-License-Identifier: Apache-2.0
// Place: a sandbox and its Python, as tools work in it. Copies share both; what holds a copy keeps
// them there.
#pragma once

#include <memory>

#include "cloche/python_session.h"
#include "cloche/sandbox.h"

namespace cloche::mcp {

struct Place {
  Place() = default;
  Place(const Place&) = default;
  Place(Place&&) noexcept = default;
  // What was here goes by the destructor: member by member the sandbox would go first.
  Place& operator=(Place other) noexcept {
    sandbox.swap(other.sandbox);
    python.swap(other.python);
    return *this;
  }
  ~Place() = default;

  std::shared_ptr<Sandbox> sandbox;
  std::shared_ptr<PythonSession> python;  // goes before the sandbox

  explicit operator bool() const noexcept { return sandbox != nullptr; }
};

// Throw ToolError.
Place make_place(Engine& engine, const SandboxOptions& options);
// An independent one that goes on from here, Python and shell too.
Place fork_place(const Place& place);

}  // namespace cloche::mcp
