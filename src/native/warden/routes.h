// SPDX-License-Identifier: Apache-2.0
// The routes of a box that has a network: what sockets with pid 1's mark send to any address stays
// inside, where pid 1 has another one at that address; for all else there is no route. There is no
// device but the loopback, so that nothing leaves the box by itself, whatever a program does.
#pragma once

#include "native/warden/outcome.h"

namespace cloche::warden {

// SO_MARK of a guest's socket that pid 1 connects. A guest lacks the privilege to set it.
inline constexpr std::uint32_t own_mark = 1;

// In this network namespace. May be done again.
Outcome lay_routes() noexcept;

}  // namespace cloche::warden
