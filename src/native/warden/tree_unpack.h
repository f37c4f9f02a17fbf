// SPDX-License-Identifier: Apache-2.0
// Makes the files of a box what a stream says (tree_stream.h).
#pragma once

#include "native/warden/filter.h"
#include "native/warden/wall.h"

namespace cloche::warden {

// A process of its own, behind the wall of the guest, before there is one: it can do to the box's
// files what a guest could. Folders of the host are left alone. Reads `from`, answers on the
// channel, and ends.
[[noreturn]] void unpack_tree(int channel, int from, const WallPlan& wall,
                              const Filter& filter) noexcept;

}  // namespace cloche::warden
