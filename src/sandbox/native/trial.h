// SPDX-License-Identifier: Apache-2.0
// Whether this machine can have native sandboxes, by making a box.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cloche/sandbox.h"

namespace cloche::sandbox {

struct NativeTrial {
  // Empty: it can. Otherwise one sentence with the step that failed, the cause and the remedy.
  std::string problem;
  // What the kernel holds of a box's limits by control groups ("memory"); empty: nothing.
  std::vector<std::string> grouped;
};
NativeTrial try_native_sandbox(const std::filesystem::path& system_folder,
                               Isolation isolation = Isolation::full);

}  // namespace cloche::sandbox
