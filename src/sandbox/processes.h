// SPDX-License-Identifier: Apache-2.0
// The processes of a WebAssembly sandbox, as its owner sees them; see Sandbox.
#pragma once

#include <vector>

#include "cloche/observer.h"
#include "cloche/result.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::sandbox {

class SandboxState;

std::vector<ProcessInfo> processes_of(SandboxState& state) EXCLUDES(kernel::kernel_lock);
Result<void> signal_process(SandboxState& state, int pid, int number) EXCLUDES(kernel::kernel_lock);

}  // namespace cloche::sandbox
