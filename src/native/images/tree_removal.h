// SPDX-License-Identifier: Apache-2.0
// The end of a tree of an image's files.
#pragma once

#include <filesystem>

namespace cloche::images {

// With all that is in it, however deep that lies and whoever may enter it. As far as it goes.
void remove_tree(const std::filesystem::path& folder);

}  // namespace cloche::images
