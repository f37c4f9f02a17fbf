// SPDX-License-Identifier: Apache-2.0
// A file that is written whole or not at all: what was there stays where there is no room for what
// is to come, and a new one that does not fit is not there.
#pragma once

#include <string>
#include <string_view>

#include "cloche/files.h"

namespace cloche::sandbox {

// As Files::write; EISDIR for a folder. It is written beside, as PATH.RANDOM.part, and takes the
// place of a file that is there. In its place it is written where the folder takes no other file,
// and where there is no room for both, but what was there leaves enough.
Result<void> write_whole(Files& files, const std::string& path, std::string_view content);

}  // namespace cloche::sandbox
