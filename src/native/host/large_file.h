// SPDX-License-Identifier: Apache-2.0
// LargeFile: a file in memory that the warden has made (native/warden/large_files.h), as it can be
// written, and as it can only be read.
#pragma once

#include "base/unique_fd.h"

namespace cloche::native {

struct LargeFile {
  UniqueFd writable, readable;
};

}  // namespace cloche::native
