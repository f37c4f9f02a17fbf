// SPDX-License-Identifier: Apache-2.0
// Keeper: pid 1 of a box behind gVisor. The box is what any box is, with other files: in it runs
// runsc, gVisor's user-space kernel, and behind that the init that every box has (inside.h), which
// Cloche talks with over the box's socket. The keeper holds the outer limits, and ends the box
// where runsc ends, where Cloche is gone, or where gVisor itself takes too much.
#pragma once

#include <cstdint>

#include "native/warden/box_group.h"
#include "native/warden/fd.h"
#include "native/warden/wire.h"

namespace cloche::warden {

struct KeeperParts {
  Fd socket;  // to Cloche
  Fd image;   // its root folder, of this mount namespace
  Fd runsc;
  BoxGroup group;
};

// What gVisor may take for itself, beyond the memory of the box.
inline constexpr std::uint64_t gvisor_bytes = 512ULL << 20;

// In the namespaces of a box. Where gVisor does not start it says so in a BoxReady.
[[noreturn]] void keep_gvisor(const MakeBox& plan, KeeperParts parts) noexcept;

}  // namespace cloche::warden
