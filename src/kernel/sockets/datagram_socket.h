// SPDX-License-Identifier: Apache-2.0
// DatagramSocket: unix datagrams, and UDP on the loopback. Kernel lock held.
#pragma once

#include <memory>

#include "kernel/sockets/socket.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class DatagramSocket final : public Socket, public std::enable_shared_from_this<DatagramSocket> {
 public:
  static constexpr std::size_t max_udp_bytes = 65507;

  DatagramSocket(Kernel& kernel, SocketFamily family, std::int32_t protocol,
                 std::uint32_t status_flags);
  ~DatagramSocket() override;

  static void pair(const std::shared_ptr<DatagramSocket>& first,
                   const std::shared_ptr<DatagramSocket>& second,
                   const PeerCredentials& credentials);

  Result<void> bind(Task& task, const SocketAddress& address) override REQUIRES(kernel_lock);
  // AF_UNSPEC takes the peer away again.
  Result<void> connect(Task& task, const SocketAddress& address) override REQUIRES(kernel_lock);
  SocketAddress local_address() const override;
  Result<SocketAddress> peer_address() const override;
  std::optional<PeerCredentials> peer_credentials() const override { return peer_credentials_; }
  Result<std::size_t> send(Task& task, SendRequest request) override REQUIRES(kernel_lock);
  Result<Received> receive(Task& task, Scatter to, std::uint32_t flags) override
      REQUIRES(kernel_lock);
  Result<void> shutdown(std::uint32_t how) override REQUIRES(kernel_lock);
  std::size_t readable_bytes() const override;
  void buffers_changed() override;
  PollEvents poll() override REQUIRES(kernel_lock);
  void poll_sources(PollSources& sources) override REQUIRES(kernel_lock);

 private:
  bool local() const noexcept { return family() == SocketFamily::local; }
  Result<void> bind_inet(const InetAddress& address) REQUIRES(kernel_lock);
  // Who gets a datagram for `to` (or for the peer); null: nobody there, which UDP does not mind.
  Result<std::shared_ptr<DatagramSocket>> receiver(Task& task,
                                                   const std::optional<SocketAddress>& to)
      REQUIRES(kernel_lock);
  Result<std::shared_ptr<DatagramSocket>> udp_receiver(const InetAddress& to) REQUIRES(kernel_lock);
  bool accepts_from(const DatagramSocket& sender) const;
  // Hands a query for a name to Outbound; false when there is nobody to ask.
  bool ask_resolver(const std::optional<SocketAddress>& to, Gather query) REQUIRES(kernel_lock);
  Result<std::size_t> deliver(Task& task, std::shared_ptr<DatagramSocket> target,
                              SendRequest& request) REQUIRES(kernel_lock);

  SocketAddress local_;
  vfs::Node node_;
  bool bound_ = false;
  MessageQueue incoming_;
  std::weak_ptr<DatagramSocket> peer_;  // unix
  bool has_peer_ = false;
  SocketAddress peer_address_;
  std::optional<PeerCredentials> peer_credentials_;
  bool receive_shut_ = false;
  bool send_shut_ = false;
};

}  // namespace cloche::kernel
