// SPDX-License-Identifier: Apache-2.0
// Running a command in a sandbox: from RunOptions to RunResult.
#pragma once

#include "cloche/run.h"

namespace cloche::sandbox {

class SandboxState;

RunResult run(SandboxState& state, const RunOptions& options);

}  // namespace cloche::sandbox
