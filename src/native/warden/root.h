// SPDX-License-Identifier: Apache-2.0
// The file system that a box sees: the system image below a folder of changes in memory with a
// quota, and /proc, /dev and terminals of its own. Built from descriptors, so that no path of the
// host is known inside.
#pragma once

#include <array>

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

struct NewRoot {
  Fd changes;  // the folder of changes (of a copy: the root)
  Fd storage;  // the file system in memory that they are in
};

// In a mount namespace of one's own, as its root. On success this process stands in the new root,
// and nothing of the old one is left.
Outcome enter_root(const RootPlan& plan, NewRoot& made);

// The places for /proc and /dev, and the usual ones for a while.
Outcome make_places(const Fd& root);

// What a connection within the box keeps at most at one end, where the kernel has such limits of a
// network; those of the machine are larger on many.
inline constexpr std::uint64_t most_received = 4 << 20, most_to_send = 2 << 20;

// Of /dev: target and name.
inline constexpr std::array<std::array<const char*, 2>, 5> device_links{
    {{"/proc/self/fd", "fd"},
     {"/proc/self/fd/0", "stdin"},
     {"/proc/self/fd/1", "stdout"},
     {"/proc/self/fd/2", "stderr"},
     {"pts/ptmx", "ptmx"}}};

// Whether a folder of changes, of an overlay, has nothing but what a root begins with, and in
// /workspace and /tmp anything but folders for Python's packages of a user.
bool is_as_image(const Fd& changes) noexcept;

// Of a root whose guests have not begun.
Outcome resize_storage(const Fd& storage, std::uint64_t bytes, std::uint64_t inodes);

}  // namespace cloche::warden
