// SPDX-License-Identifier: Apache-2.0
// What is in a folder. The iterators of std::filesystem end the program where the host has no
// memory for a path; here that is std::bad_alloc, as everywhere.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace cloche {

// Names alone, in no order, without "." and "..". An error also where it cannot be read to its end.
Result<std::vector<std::string>> folder_names(const std::filesystem::path& folder);

}  // namespace cloche
