// SPDX-License-Identifier: Apache-2.0
// The backend whose programs are WebAssembly: a SandboxState.
#pragma once

#include "sandbox/backend.h"

namespace cloche::sandbox {

std::unique_ptr<Backend> make_wasm_backend(std::unique_ptr<SandboxState> state);

}  // namespace cloche::sandbox
