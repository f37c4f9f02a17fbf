// SPDX-License-Identifier: Apache-2.0
// setsockopt and getsockopt; socket_calls() lists them.
#pragma once

#include "kernel/linux/call.h"
#include "kernel/sockets/socket.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel::lnx {

// The socket of a descriptor argument: EBADF, ENOTSOCK.
Result<std::shared_ptr<Socket>> socket_at(const Call& call, std::size_t argument)
    REQUIRES(kernel_lock);

SysResult setsockopt(Call& call) REQUIRES(kernel_lock);
SysResult getsockopt(Call& call) REQUIRES(kernel_lock);

}  // namespace cloche::kernel::lnx
