// SPDX-License-Identifier: Apache-2.0
// sock_accept, sock_recv, sock_send, sock_shutdown. preview1 makes no sockets: they are inherited,
// or accepted.
#include "kernel/sockets/socket.h"
#include "kernel/wasi/file_stat.h"
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {
namespace {

Result<std::shared_ptr<Socket>> socket_at(const Call& call, std::uint32_t fd)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(FilePtr file, call.file(fd));
  auto socket = std::dynamic_pointer_cast<Socket>(std::move(file));
  if (!socket) return Errno::notsock;
  return socket;
}

Result<void> sock_accept(Call& call, std::uint32_t fd, std::uint32_t fdflags, std::uint32_t out)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> socket, socket_at(call, fd));
  if ((fdflags & ~fdflag_nonblock) != 0) return Errno::inval;
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  CLOCHE_ASSIGN(std::shared_ptr<Socket> accepted,
                socket->accept(call.task, open_flags_of(fdflags)));
  CLOCHE_ASSIGN(const std::int32_t number,
                call.process.fds.install(std::move(accepted), o_cloexec));
  return call.memory.write(out, static_cast<std::uint32_t>(number));
}

Result<void> sock_recv(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                       std::uint32_t riflags, std::uint32_t count_out, std::uint32_t roflags_out)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> socket, socket_at(call, fd));
  if ((riflags & ~riflags_all) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const Call::Buffers buffers, call.buffers(iovs, count));
  CLOCHE_TRY(call.check_out<std::uint32_t>(count_out));
  CLOCHE_TRY(call.check_out<std::uint16_t>(roflags_out));
  std::uint32_t flags = 0;
  if ((riflags & riflag_peek) != 0) flags |= msg_peek;
  if ((riflags & riflag_waitall) != 0) flags |= msg_waitall;
  CLOCHE_ASSIGN(const Received received, socket->receive(call.task, buffers, flags));
  const bool truncated = (received.flags & msg_trunc) != 0;
  CLOCHE_TRY(call.memory.write(count_out, static_cast<std::uint32_t>(received.count)));
  return call.memory.write(roflags_out,
                           static_cast<std::uint16_t>(truncated ? roflag_data_truncated : 0));
}

// A WASI program can neither ignore nor handle SIGPIPE, so a send without a receiver is EPIPE and
// nothing else.
Result<void> sock_send(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                       std::uint32_t siflags, std::uint32_t out) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> socket, socket_at(call, fd));
  if (siflags != 0) return Errno::inval;
  CLOCHE_ASSIGN(const Call::Buffers buffers, call.buffers(iovs, count));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  const std::vector<std::span<const std::byte>> pieces(buffers.begin(), buffers.end());
  SendRequest request;
  request.bytes = pieces;
  request.flags = msg_nosignal;
  CLOCHE_ASSIGN(const std::size_t sent, socket->send(call.task, std::move(request)));
  return call.memory.write(out, static_cast<std::uint32_t>(sent));
}

Result<void> sock_shutdown(Call& call, std::uint32_t fd, std::uint32_t how) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> socket, socket_at(call, fd));
  constexpr std::uint32_t both = sdflag_rd | sdflag_wr;
  if (how == 0 || (how & ~both) != 0) return Errno::inval;
  return socket->shutdown(how - 1);  // shutdown(2) counts read, write, both from 0
}

}  // namespace

Functions socket_calls() {
  return {function<"sock_accept", sock_accept>(), function<"sock_recv", sock_recv>(),
          function<"sock_send", sock_send>(), function<"sock_shutdown", sock_shutdown>()};
}

}  // namespace cloche::kernel::wasi
