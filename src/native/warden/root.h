// SPDX-License-Identifier: Apache-2.0
// The file system that a box sees: the system image below a folder of changes in memory with a
// quota, and /proc, /dev and terminals of its own. Built from descriptors, so that no path of the
// host is known inside.
#pragma once

#include "native/warden/fd.h"
#include "native/warden/outcome.h"

namespace cloche::warden {

struct RootPlan {
  int image = -1;       // the folder
  int begin_with = -1;  // a folder of changes to copy first; -1: none
  Root kind = Root::overlay;
  std::uint64_t file_bytes = 0;
  std::uint64_t file_inodes = 0;
};

// In a mount namespace of one's own, as its root. On success this process stands in the new root,
// nothing of the old one is left, and `changes` is the folder of changes (of a copy: the root).
Outcome enter_root(const RootPlan& plan, Fd& changes);

}  // namespace cloche::warden
