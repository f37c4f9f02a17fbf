// SPDX-License-Identifier: Apache-2.0
// Makes the files below the root of this process what a stream says (tree_stream.h).
#pragma once

#include "native/warden/tree_limits.h"

namespace cloche::warden {

// The limits are of what the stream has; what is there already does not count.
//
// Folders of other file systems than the root's are left alone, and no link is followed. Files are
// made anew, never written over. An errno, EDQUOT beyond the limits, EINVAL for what is no stream;
// 0: all is as the stream says. For a process that nothing but a wall protects from the stream.
int write_tree(int from, const TreeLimits& limits);

}  // namespace cloche::warden
