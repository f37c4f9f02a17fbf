// SPDX-License-Identifier: Apache-2.0
// Relay: what is open inside gVisor cannot be given out, so a process of ours carries the bytes
// between it and a stream that Cloche has given in. It stands behind the wall of any guest, and no
// guest can look into it.
#pragma once

#include <cstdint>

#include "native/warden/fd.h"
#include "native/warden/filter.h"
#include "native/warden/wall.h"

namespace cloche::warden {

// In a forked process: until both ways have ended.
[[noreturn]] void relay(const Fd& inner, const Fd& outer, const WallPlan& wall,
                        const Filter& filter) noexcept;

// The same with a port of the loopback, which it connects to first; how that went is the Answer on
// the channel.
[[noreturn]] void relay_port(const Fd& channel, std::uint16_t port, bool is_v6, const Fd& outer,
                             const WallPlan& wall, const Filter& filter) noexcept;

}  // namespace cloche::warden
