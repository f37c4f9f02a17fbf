// SPDX-License-Identifier: Apache-2.0
// gVisor's program, which isolation=gvisor needs.
#pragma once

#include <filesystem>

#include "base/unique_fd.h"

namespace cloche::sandbox {

// Open for reading. Throws HostError with a sentence where there is none.
UniqueFd open_runsc(const std::filesystem::path& system_folder);

}  // namespace cloche::sandbox
