// SPDX-License-Identifier: Apache-2.0
// Sockets whose other end a guest holds, for bytes alone. A descriptor that it sends along would be
// this process's to close, and may be one whose last close waits for as long as the guest likes (a
// connection with SO_LINGER). From Linux 6.16 there none can be sent; before, what comes is closed
// without waiting for what it has to send.
#pragma once

#include <cstddef>

#include "native/host/patience.h"

namespace cloche::native {

// `type` as of socketpair. The guest's end is `theirs`.
Result<Sockets> make_guest_sockets(int type);

// As recv; MSG_TRUNC says how long a packet was.
ssize_t receive_bytes(int socket, void* to, std::size_t size, int flags) noexcept;

}  // namespace cloche::native
