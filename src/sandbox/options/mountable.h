// SPDX-License-Identifier: Apache-2.0
// What of this machine can be mounted: a folder, or a single regular file.
#pragma once

#include <filesystem>
#include <string_view>

namespace cloche::sandbox {

// Throws Error with one sentence, which begins with `name`, for a path where there is neither.
// Links are followed.
void need_mountable(const std::filesystem::path& path, std::string_view name);

}  // namespace cloche::sandbox
