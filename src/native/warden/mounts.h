// SPDX-License-Identifier: Apache-2.0
// Folders and files of the host in a box. Each is a tree of its own that is private, has no devices
// and no set-id programs, and is read-only where that is asked for.
#pragma once

#include <array>
#include <cstdint>

#include "native/warden/fd.h"
#include "native/warden/outcome.h"
#include "native/warden/wire.h"

namespace cloche::warden {

struct MountParts {
  std::uint32_t count = 0;
  Fd orders;                          // a file of MountOrders
  std::array<Fd, most_mounts> trees;  // first those that came along
};

// Of stat's mode: a folder, or a regular file.
bool is_mountable(unsigned mode) noexcept;

// What every tree of the host's gets; MOUNT_ATTR_IDMAP where `users` is a user namespace. 0, or -1
// with errno.
int confine_tree(const Fd& tree, bool is_read_only, int users = -1) noexcept;

// While the host's files are seen: makes the trees that did not come along. ESTALE: something
// else is there now. `failed` is which it was.
Outcome find_mounts(MountParts& parts, std::uint32_t& failed);

// In the box's own root.
Outcome place_mounts(MountParts& parts, std::uint32_t& failed);

}  // namespace cloche::warden
