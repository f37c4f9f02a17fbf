// SPDX-License-Identifier: Apache-2.0
// The variables that a command has before anybody sets one: what a login would have, the default
// PATH among them. TERM is the door's.
#pragma once

#include <map>
#include <string>

#include "cloche/sandbox.h"

namespace cloche::sandbox {

// Of a WebAssembly sandbox.
std::map<std::string, std::string> default_environment(const SandboxOptions& options);
// Of a native one, before those of its system image.
std::map<std::string, std::string> default_native_environment();

}  // namespace cloche::sandbox
