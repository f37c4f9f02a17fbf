// SPDX-License-Identifier: Apache-2.0
// Messages of sockets in guest memory: msghdr, its buffers and its control data.
#pragma once

#include <vector>

#include "kernel/linux/call.h"
#include "kernel/sockets/socket.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel::lnx {

// struct msghdr of riscv32.
struct GuestMsghdr {
  std::uint32_t name, name_length, iov, iov_count, control, control_length, flags;
};
static_assert(sizeof(GuestMsghdr) == 28);

// An address argument: EINVAL for a bad length, EFAULT.
Result<SocketAddress> read_address(const Call& call, std::uint32_t address, std::uint32_t length);
// Writes as much as the guest has room for and its full length, as accept and getsockname do. A
// null `address`: nothing.
Result<void> write_address(const Call& call, const SocketAddress& value, SocketFamily family,
                           std::uint32_t address, std::uint32_t length_address);

// sendmsg and recvmsg on a header that has been read. `header_address`: where recvmsg writes what
// it has found.
Result<std::size_t> send_message(Call& call, Socket& socket, const GuestMsghdr& header,
                                 std::uint32_t flags) REQUIRES(kernel_lock);
Result<std::size_t> receive_message(Call& call, Socket& socket, std::uint32_t header_address,
                                    std::uint32_t flags) REQUIRES(kernel_lock);

}  // namespace cloche::kernel::lnx
