// SPDX-License-Identifier: Apache-2.0
// What the public API tells of a file, from what the file system tells.
#pragma once

#include "cloche/files.h"
#include "vfs/path_operations.h"

namespace cloche::sandbox {

FileInfo info_of(const vfs::FileInfo& info);

}  // namespace cloche::sandbox
