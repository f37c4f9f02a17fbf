// SPDX-License-Identifier: Apache-2.0
// A file as the agent's clients are told of it.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "cloche/files.h"

namespace cloche::e2b {

// Attributes of this name space are a file's metadata.
inline constexpr std::string_view metadata_space = "user.e2b.";

// The entry at an absolute path; a dangling link is one.
Result<OrderedJson> entry_of(const Files& files, const std::string& path);

std::string last_component(std::string_view path);

}  // namespace cloche::e2b
