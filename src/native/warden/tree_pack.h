// SPDX-License-Identifier: Apache-2.0
// Writes the files that a box has changed as a stream (tree_stream.h).
#pragma once

#include "native/warden/filter.h"
#include "native/warden/wall.h"

namespace cloche::warden {

// A process of its own, behind the wall of the guest: writes what is in `changes` to `to`, answers
// on the channel, and ends.
[[noreturn]] void pack_tree(int channel, int changes, int to, const WallPlan& wall,
                            const Filter& filter) noexcept;

// The same, for a process that has a wall. 0, or an errno; then the stream has no end.
int write_stream(int changes, int to);

}  // namespace cloche::warden
