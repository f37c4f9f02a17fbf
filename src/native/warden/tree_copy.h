// SPDX-License-Identifier: Apache-2.0
// A copy of a tree of files: of a system image, or of the folder of changes that a fork begins
// with.
#pragma once

#include "native/warden/outcome.h"
#include "native/warden/tree_limits.h"

namespace cloche::warden {

// All that is in the folder `from` into the folder `to`: modes, times, links, holes, whiteouts of
// an overlay and its marks. Sockets and devices of other kinds are left out. What is there already
// is an error; beyond the limits it is EDQUOT, before it is copied.
Outcome copy_tree(int from, int to, const TreeLimits& limits = {});

// The same, but regular files are further names of those in `from`, where the file system lets them
// be: for trees whose files nobody writes to.
Outcome link_tree(int from, int to);

}  // namespace cloche::warden
