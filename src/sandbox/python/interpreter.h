// SPDX-License-Identifier: Apache-2.0
// What a kept Python (Sandbox::run_python) and the interpreter of a PythonSession have in common.
#pragma once

#include <memory>

#include "base/result.h"
#include "python/own_images.h"
#include "python/python_session.h"
#include "sandbox/sandbox_state.h"

namespace cloche::sandbox {

// The sandbox's environment and home folder, no input, and output to these.
python::SessionOptions interpreter_options(SandboxState& state, kernel::FilePtr out,
                                           kernel::FilePtr err);

// Starts an interpreter from this image, or from the boot image where it is null. Errors are those
// of Kernel::spawn.
Result<std::unique_ptr<python::PythonSession>> start_interpreter(
    SandboxState& state, python::PythonRuntime& runtime, python::SessionOptions options,
    const std::shared_ptr<python::OwnImage>& image);

}  // namespace cloche::sandbox
