// SPDX-License-Identifier: Apache-2.0
// What an image has, seen from outside.
#pragma once

#include <string>
#include <vector>

namespace cloche::images {

// Of a text as that of $PATH.
std::vector<std::string> folders_of(const std::string& path);

// Whether there is a program of that name in one of the folders of `path`, as of $PATH, in the
// image whose files are in the folder `root`. True where this cannot be told from outside: nothing
// is read, and where a link leads is not followed to its end.
bool has_program(int root, const std::string& path, const std::string& name);

}  // namespace cloche::images
