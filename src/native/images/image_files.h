// SPDX-License-Identifier: Apache-2.0
// What an image has, seen from outside.
#pragma once

#include <string>

namespace cloche::images {

// Whether there is a program of that name in one of the folders of `path`, as of $PATH, below the
// folder `root`, out of which no link leads. True where this cannot be found out.
bool has_program(int root, const std::string& path, const std::string& name) noexcept;

}  // namespace cloche::images
