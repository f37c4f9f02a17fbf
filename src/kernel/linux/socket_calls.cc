// SPDX-License-Identifier: Apache-2.0
// Sockets: making, naming, connecting, and what is sent and received.
#include <algorithm>
#include <array>
#include <memory>

#include "kernel/kernel.h"
#include "kernel/linux/guest_time.h"
#include "kernel/linux/socket_messages.h"
#include "kernel/linux/socket_options.h"
#include "kernel/sockets/socket_table.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t sock_type_mask = 0xf, sock_nonblock = o_nonblock, sock_cloexec = o_cloexec;

Result<void> check_type_flags(std::uint32_t type) {
  if ((type & ~(sock_type_mask | sock_nonblock | sock_cloexec)) != 0) return Errno::inval;
  return {};
}

SysResult socket(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t type = call.u32(1);
  CLOCHE_TRY(check_type_flags(type));
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> made,
                call.kernel.sockets().create(call.u32(0), type & sock_type_mask, call.i32(2),
                                             type & sock_nonblock));
  CLOCHE_ASSIGN(const std::int32_t fd, call.process.fds.install(made, type & sock_cloexec));
  return fd;
}

SysResult socketpair(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t type = call.u32(1);
  CLOCHE_TRY(check_type_flags(type));
  if (!call.memory.holds(call.u32(3), 2 * sizeof(std::int32_t))) return Errno::fault;
  CLOCHE_ASSIGN(const auto pair,
                call.kernel.sockets().create_pair(call.task, call.u32(0), type & sock_type_mask,
                                                  call.i32(2), type & sock_nonblock));
  FdTable& fds = call.process.fds;
  CLOCHE_ASSIGN(const std::int32_t first, fds.install(pair.first, type & sock_cloexec));
  const Result<std::int32_t> second = fds.install(pair.second, type & sock_cloexec);
  if (!second) {
    (void)fds.close(first);
    return second.error();
  }
  CLOCHE_TRY(call.memory.write(call.u32(3), std::array{first, *second}));
  return 0;
}

SysResult bind(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_ASSIGN(const SocketAddress address, read_address(call, call.u32(1), call.u32(2)));
  CLOCHE_TRY(file->bind(call.task, address));
  return 0;
}

SysResult listen(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_TRY(file->listen(call.task, call.i32(1)));
  return 0;
}

SysResult connect(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_ASSIGN(const SocketAddress address, read_address(call, call.u32(1), call.u32(2)));
  CLOCHE_TRY(file->connect(call.task, address));
  return 0;
}

SysResult accept_with(Call& call, std::uint32_t flags) REQUIRES(kernel_lock) {
  if ((flags & ~(sock_nonblock | sock_cloexec)) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  // A connection is not taken when there is no descriptor for it.
  FdTable& fds = call.process.fds;
  CLOCHE_ASSIGN(const std::int32_t free_fd, fds.install(file, 0));
  (void)fds.close(free_fd);
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> accepted,
                file->accept(call.task, flags & sock_nonblock));
  const Result<SocketAddress> peer = accepted->peer_address();
  CLOCHE_TRY(write_address(call, peer ? *peer : SocketAddress(), accepted->family(), call.u32(1),
                           call.u32(2)));
  CLOCHE_ASSIGN(const std::int32_t fd, fds.install(accepted, flags & sock_cloexec));
  return fd;
}

SysResult accept(Call& call) REQUIRES(kernel_lock) { return accept_with(call, 0); }
SysResult accept4(Call& call) REQUIRES(kernel_lock) { return accept_with(call, call.u32(3)); }

SysResult getsockname(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  if (call.u32(1) == 0) return Errno::fault;
  CLOCHE_TRY(write_address(call, file->local_address(), file->family(), call.u32(1), call.u32(2)));
  return 0;
}

SysResult getpeername(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_ASSIGN(const SocketAddress peer, file->peer_address());
  if (call.u32(1) == 0) return Errno::fault;
  CLOCHE_TRY(write_address(call, peer, file->family(), call.u32(1), call.u32(2)));
  return 0;
}

SysResult shutdown(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_TRY(file->shutdown(call.u32(1)));
  return 0;
}

// --- Data ---

constexpr std::uint32_t transfer_max_bytes = 0x7ffff000;

SysResult sendto(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_ASSIGN(const std::span<std::byte> buffer,
                call.memory.slice(call.u32(1), std::min(call.u32(2), transfer_max_bytes)));
  const std::span<const std::byte> piece = buffer;
  SendRequest request;
  request.bytes = {&piece, 1};
  request.flags = call.u32(3);
  if (call.u32(4) != 0) {
    CLOCHE_ASSIGN(request.to, read_address(call, call.u32(4), call.u32(5)));
  }
  CLOCHE_ASSIGN(const std::size_t count, file->send(call.task, std::move(request)));
  return static_cast<std::int64_t>(count);
}

SysResult recvfrom(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_ASSIGN(const std::span<std::byte> buffer,
                call.memory.slice(call.u32(1), std::min(call.u32(2), transfer_max_bytes)));
  const std::uint32_t flags = call.u32(3);
  CLOCHE_ASSIGN(const Received received, file->receive(call.task, {&buffer, 1}, flags));
  if (std::holds_alternative<std::monostate>(received.from)) {
    if (call.u32(4) != 0) CLOCHE_TRY(call.memory.write(call.u32(5), std::int32_t{0}));
  } else {
    CLOCHE_TRY(write_address(call, received.from, file->family(), call.u32(4), call.u32(5)));
  }
  return static_cast<std::int64_t>((flags & msg_trunc) != 0 ? received.full_count : received.count);
}

SysResult sendmsg(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_ASSIGN(const GuestMsghdr header, call.memory.read<GuestMsghdr>(call.u32(1)));
  CLOCHE_ASSIGN(const std::size_t count, send_message(call, *file, header, call.u32(2)));
  return static_cast<std::int64_t>(count);
}

SysResult recvmsg(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_ASSIGN(const std::size_t count, receive_message(call, *file, call.u32(1), call.u32(2)));
  return static_cast<std::int64_t>(count);
}

// --- Many messages at once ---

constexpr std::uint32_t messages_max = 1024;
constexpr std::uint32_t mmsghdr_bytes = sizeof(GuestMsghdr) + sizeof(std::uint32_t);

SysResult sendmmsg(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  const std::uint32_t count = std::min(call.u32(2), messages_max);
  if (!call.memory.holds(call.u32(1), std::uint64_t{count} * mmsghdr_bytes)) return Errno::fault;
  std::uint32_t done = 0;
  for (; done < count; ++done) {
    const std::uint32_t address = call.u32(1) + done * mmsghdr_bytes;
    CLOCHE_ASSIGN(const GuestMsghdr header, call.memory.read<GuestMsghdr>(address));
    const Result<std::size_t> sent = send_message(call, *file, header, call.u32(3));
    if (!sent && done == 0) return sent.error();
    if (!sent) break;
    CLOCHE_TRY(call.memory.write(address + sizeof(GuestMsghdr), static_cast<std::uint32_t>(*sent)));
  }
  return done;
}

SysResult recvmmsg(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> file, socket_at(call, 0));
  CLOCHE_ASSIGN(const Deadline deadline, read_timeout(call, call.u32(4)));
  const std::uint32_t count = std::min(call.u32(2), messages_max);
  if (!call.memory.holds(call.u32(1), std::uint64_t{count} * mmsghdr_bytes)) return Errno::fault;
  std::uint32_t flags = call.u32(3) & ~msg_waitforone;
  std::uint32_t done = 0;
  for (; done < count; ++done) {
    const std::uint32_t address = call.u32(1) + done * mmsghdr_bytes;
    const Result<std::size_t> received = receive_message(call, *file, address, flags);
    if (!received && done == 0) return received.error();
    if (!received) break;
    CLOCHE_TRY(
        call.memory.write(address + sizeof(GuestMsghdr), static_cast<std::uint32_t>(*received)));
    if ((call.u32(3) & msg_waitforone) != 0) flags |= msg_dontwait;
    // As on Linux the timeout is looked at after each message.
    if (deadline && call.kernel.clock().steady() >= *deadline) {
      ++done;
      break;
    }
  }
  return done;
}

}  // namespace

std::span<const Entry> socket_calls() {
  static constexpr auto calls = std::to_array<Entry>({
      {198, "socket", 3, socket},
      {199, "socketpair", 4, socketpair},
      {200, "bind", 3, bind},
      {201, "listen", 2, listen},
      {202, "accept", 3, accept},
      {203, "connect", 3, connect},
      {204, "getsockname", 3, getsockname},
      {205, "getpeername", 3, getpeername},
      {206, "sendto", 6, sendto},
      {207, "recvfrom", 6, recvfrom},
      {208, "setsockopt", 5, setsockopt},
      {209, "getsockopt", 5, getsockopt},
      {210, "shutdown", 2, shutdown},
      {211, "sendmsg", 3, sendmsg},
      {212, "recvmsg", 3, recvmsg},
      {242, "accept4", 4, accept4},
      {269, "sendmmsg", 4, sendmmsg},
      {417, "recvmmsg_time64", 5, recvmmsg},
  });
  return calls;
}

}  // namespace cloche::kernel::lnx
