// SPDX-License-Identifier: Apache-2.0
// Whether this machine can have native sandboxes, by making a box.
#pragma once

#include <filesystem>
#include <string>

namespace cloche::sandbox {

// Empty: it can. Otherwise one sentence with the step that failed, the cause and the remedy.
std::string why_no_native_sandboxes(const std::filesystem::path& system_folder);

}  // namespace cloche::sandbox
