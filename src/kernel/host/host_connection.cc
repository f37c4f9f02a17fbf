// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/host_connection.h"

#include <array>
#include <atomic>
#include <mutex>

#include "kernel/kernel.h"
#include "kernel/sockets/socket_table.h"
#include "kernel/sockets/stream_socket.h"

namespace cloche::kernel {
namespace {

constexpr auto own_end = StreamConnection::End::first;

InetAddress loopback_address(SocketFamily family, std::uint16_t port) {
  InetAddress address;
  address.family = family;
  address.ip = IpAddress::loopback(family);
  address.port = port;
  return address;
}

// What the program sees as the port of its client.
std::uint16_t next_port() {
  static std::atomic<unsigned> next{0};
  constexpr unsigned count = InetPorts::last_ephemeral - InetPorts::first_ephemeral;
  return static_cast<std::uint16_t>(InetPorts::first_ephemeral + next++ % count);
}

}  // namespace

Result<std::unique_ptr<HostConnection>> HostConnection::connect(Kernel& kernel, std::uint16_t port,
                                                                std::function<void()> changed) {
  std::unique_ptr<HostConnection> made(new HostConnection(kernel, std::move(changed)));
  const KernelLock lock(kernel.mutex());
  for (const SocketFamily family : {SocketFamily::inet, SocketFamily::inet6}) {
    const InetAddress to = loopback_address(family, port);
    Socket* found =
        kernel.sockets().ports(SocketType::stream).find(to.ip, port, InetPorts::Wanted::listening);
    if (found == nullptr) continue;
    CLOCHE_ASSIGN(auto stream, static_cast<StreamSocket*>(found)->connect_host(
                                   loopback_address(family, next_port()), to));
    made->stream_.hold(std::move(stream));
    made->stream_->set_listener(own_end, made.get());
    return made;
  }
  return Errno::connrefused;
}

HostConnection::HostConnection(Kernel& kernel, std::function<void()> changed)
    : kernel_(kernel), changed_(std::move(changed)), stream_(kernel.mutex()) {}

HostConnection::~HostConnection() {
  if (!stream_) return;
  const KernelLock lock(kernel_.mutex());
  stream_->set_listener(own_end, nullptr);
  stream_->close(own_end);
}

Result<std::size_t> HostConnection::write(std::span<const std::byte> from) {
  const KernelLock lock(kernel_.mutex());
  const std::array pieces{from};
  Ancillary none;
  return stream_->send(own_end, pieces, 0, none);
}

Result<std::size_t> HostConnection::read(std::span<std::byte> to) {
  const KernelLock lock(kernel_.mutex());
  const std::array pieces{to};
  CLOCHE_ASSIGN(const Received received, stream_->receive(own_end, pieces, 0));
  return received.count;
}

void HostConnection::shut_down_write() {
  const KernelLock lock(kernel_.mutex());
  stream_->shut_down_send(own_end);
}

}  // namespace cloche::kernel
