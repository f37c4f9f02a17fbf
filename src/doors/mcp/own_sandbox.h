// SPDX-License-Identifier: Apache-2.0
// The sandboxes that tools work in: always with a Python, and with errors that an agent reads.
#pragma once

#include "cloche/engine.h"
#include "sandbox/live_sandbox.h"

namespace cloche::mcp {

using sandbox::LiveSandbox;

// Throw ToolError.
LiveSandbox make_sandbox(Engine& engine, const SandboxOptions& options);
// An independent one that goes on from here, Python and shell too.
LiveSandbox fork_sandbox(const LiveSandbox& live);

}  // namespace cloche::mcp
