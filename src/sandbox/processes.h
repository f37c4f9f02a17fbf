// SPDX-License-Identifier: Apache-2.0
// The processes of a WebAssembly sandbox, as its owner sees them; see Sandbox.
#pragma once

#include <vector>

#include "cloche/observer.h"
#include "cloche/result.h"

namespace cloche::sandbox {

class SandboxState;

std::vector<ProcessInfo> processes_of(SandboxState& state);
Result<void> signal_process(SandboxState& state, int pid, int number);

}  // namespace cloche::sandbox
