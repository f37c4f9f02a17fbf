// SPDX-License-Identifier: Apache-2.0
#include "kernel/sockets/socket.h"

#include <fmt/format.h>

#include <utility>

#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/sockets/socket_table.h"
#include "wasm/guest_memory.h"

namespace cloche::kernel {

Socket::Socket(Kernel& kernel, SocketFamily family, SocketType type, std::int32_t protocol,
               std::uint32_t status_flags)
    : File(o_rdwr | status_flags),
      kernel_(kernel),
      family_(family),
      type_(type),
      protocol_(protocol),
      id_(kernel.next_file_id()) {
  table().count_up();
}

Socket::~Socket() { table().count_down(); }

SocketTable& Socket::table() const noexcept { return kernel_.sockets(); }

std::int32_t Socket::take_error() noexcept {
  const std::optional<Errno> error = pending_error();
  return error ? static_cast<std::int32_t>(*error) : 0;
}

Result<void> Socket::start_tls(std::string_view) { return Errno::noprotoopt; }

Result<void> Socket::listen(Task&, std::int32_t) { return Errno::notsup; }

Result<std::shared_ptr<Socket>> Socket::accept(Task&, std::uint32_t) { return Errno::notsup; }

Result<std::size_t> Socket::read(Task& task, std::span<std::byte> to) {
  CLOCHE_ASSIGN(const Received received, receive(task, {&to, 1}, 0));
  return received.count;
}

Result<std::size_t> Socket::write(Task& task, std::span<const std::byte> from) {
  return send(task, SendRequest{{&from, 1}, 0, std::nullopt, {}});
}

Result<std::int32_t> Socket::ioctl(Task&, wasm::GuestMemory& memory, std::uint32_t request,
                                   std::uint32_t argument) {
  constexpr std::uint32_t fionread = 0x541B, tiocoutq = 0x5411, siocatmark = 0x8905;
  switch (request) {
    case fionread:
      if (listening()) return Errno::inval;
      CLOCHE_TRY(memory.write(argument, static_cast<std::int32_t>(readable_bytes())));
      return 0;
    case tiocoutq:
    case siocatmark:
      // What was sent is at the peer at once, and there is no urgent data.
      CLOCHE_TRY(memory.write(argument, std::int32_t{0}));
      return 0;
    default: return Errno::notty;
  }
}

Result<vfs::Stat> Socket::stat() {
  vfs::Stat stat = anonymous_stat(vfs::FileType::socket, id_);
  stat.mode = 0777;
  return stat;
}

std::string Socket::description() const { return fmt::format("socket:[{}]", id_); }

Result<void> Socket::wait(Task& task, std::uint32_t flags, std::chrono::nanoseconds timeout,
                          Deadline& deadline) {
  if (nonblocking() || (flags & msg_dontwait) != 0) return Errno::again;
  if (timeout.count() > 0 && !deadline) deadline = task.kernel().clock().steady() + timeout;
  const Result<void> slept = task.block({&changed}, deadline);
  if (slept) return {};
  if (slept.error() == Errno::timedout) return Errno::again;
  return timeout.count() > 0 && slept.error() == Errno::restart ? Errno::intr : slept.error();
}

Errno Socket::broken(Task& task, std::uint32_t flags) {
  return (flags & msg_nosignal) != 0 ? Errno::pipe : broken_pipe(task);
}

PeerCredentials credentials_of(const Task& task) {
  const Process& process = task.process();
  return {process.pid(), process.credentials.uid, process.credentials.gid};
}

}  // namespace cloche::kernel
