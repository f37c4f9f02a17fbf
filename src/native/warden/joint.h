// SPDX-License-Identifier: Apache-2.0
// A joint: a guest's socket, connected to one of ours. Ours is at the very address that the guest
// wants to reach, so that the guest sees that one as its peer; where a socket of the guest's is in
// the way, ours is at the loopback.
#pragma once

#include "native/warden/fd.h"
#include "native/warden/question.h"

namespace cloche::warden {

// What the guest has there.
bool is_tcp(const Fd& socket) noexcept;
// Not connected, connecting or listening.
bool is_unconnected(const Fd& socket) noexcept;
bool is_nonblocking(const Fd& socket) noexcept;

// A listening socket at this address; none, with EADDRINUSE, where the guest has one.
Fd listen_at(const SocketName& at) noexcept;

// Connects `guest` and gives our end, non-blocking; none with errno. It takes no longer than some
// milliseconds, whatever the guest has done to its socket.
Fd join(const Fd& guest, const SocketName& to) noexcept;

}  // namespace cloche::warden
