// What the public API tells of a file, from what the file system tells.
#pragma once

#include "cloche/files.h"
#include "vfs/file_ops.h"

namespace cloche::detail {

FileInfo info_of(const vfs::FileInfo& info);

}  // namespace cloche::detail
