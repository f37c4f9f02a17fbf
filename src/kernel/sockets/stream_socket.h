// SPDX-License-Identifier: Apache-2.0
// StreamSocket: a connection-oriented socket: unix stream and seqpacket, TCP on the loopback.
// Kernel lock held.
#pragma once

#include <deque>
#include <memory>

#include "kernel/sockets/outbound.h"
#include "kernel/sockets/socket.h"
#include "kernel/sockets/stream_connection.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class StreamSocket final : public Socket,
                           public OutboundAttempt,
                           public std::enable_shared_from_this<StreamSocket> {
 public:
  static constexpr std::int32_t max_backlog = 4096;

  StreamSocket(Kernel& kernel, SocketFamily family, SocketType type, std::int32_t protocol,
               std::uint32_t status_flags);
  ~StreamSocket() override;

  // socketpair.
  static void pair(StreamSocket& first, StreamSocket& second, const PeerCredentials& credentials)
      REQUIRES(kernel_lock);

  // For the host's side: a connection to this listener, of which the caller has the first end, as
  // if it came from `from`. A full backlog is no reason to refuse it, up to a bound of its own:
  // ECONNREFUSED over it.
  Result<std::shared_ptr<StreamConnection>> connect_host(const InetAddress& from,
                                                         const InetAddress& to)
      REQUIRES(kernel_lock);

  bool listening() const noexcept override { return listening_; }
  Result<void> bind(Task& task, const SocketAddress& address) override REQUIRES(kernel_lock);
  Result<void> listen(Task& task, std::int32_t backlog) override REQUIRES(kernel_lock);
  Result<void> connect(Task& task, const SocketAddress& address) override REQUIRES(kernel_lock);
  Result<std::shared_ptr<Socket>> accept(Task& task, std::uint32_t status_flags) override
      REQUIRES(kernel_lock);
  SocketAddress local_address() const override;
  Result<SocketAddress> peer_address() const override;
  std::optional<PeerCredentials> peer_credentials() const override;
  Result<std::size_t> send(Task& task, SendRequest request) override REQUIRES(kernel_lock);
  Result<Received> receive(Task& task, Scatter to, std::uint32_t flags) override
      REQUIRES(kernel_lock);
  Result<void> shutdown(std::uint32_t how) override REQUIRES(kernel_lock);
  std::size_t readable_bytes() const override;
  Result<void> start_tls(std::string_view request) override REQUIRES(kernel_lock);
  std::string origin() const override REQUIRES(kernel_lock);
  void buffers_changed() override;
  PollEvents poll() override REQUIRES(kernel_lock);

  void established(const InetAddress& local) override REQUIRES(kernel_lock);
  void failed(Errno error) override REQUIRES(kernel_lock);

 private:
  using End = StreamConnection::End;

  bool local() const noexcept { return family() == SocketFamily::local; }
  bool connected() const noexcept { return connection_ != nullptr && !connecting_; }
  Result<void> bind_inet(const InetAddress& address) REQUIRES(kernel_lock);
  Result<void> connect_local(Task& task, const SocketAddress& address) REQUIRES(kernel_lock);
  Result<void> connect_inet(Task& task, const InetAddress& address) REQUIRES(kernel_lock);
  Result<void> connect_outbound(Task& task, const InetAddress& address) REQUIRES(kernel_lock);
  Result<void> wait_established(Task& task) REQUIRES(kernel_lock);
  // Connects to a listener of this kernel, waiting for a place in its queue. `seen_as`: the address
  // under which it was reached.
  Result<void> connect_to(Task& task, std::shared_ptr<StreamSocket> listener,
                          const SocketAddress& seen_as) REQUIRES(kernel_lock);
  // Queues a connection from `from` at this listener, which has been reached as `seen_as`; the
  // caller has the first end.
  Result<std::shared_ptr<StreamConnection>> enqueue(const StreamConnection::Identity& from,
                                                    const SocketAddress& seen_as)
      REQUIRES(kernel_lock);
  void adopt(std::shared_ptr<StreamConnection> connection, End end);
  // What a send of `total` bytes gives where the other end receives nothing more: one that is in
  // another place learns of it by an answer to what was sent.
  Result<std::size_t> refused(Task& task, std::uint32_t flags, std::size_t total)
      REQUIRES(kernel_lock);
  void stop_listening() REQUIRES(kernel_lock);

  SocketAddress local_;
  vfs::Node node_;  // of a unix socket's name
  bool bound_ = false;
  bool listening_ = false;
  bool connecting_ = false;  // by way of Outbound
  bool outbound_ = false;    // has been connected by way of it
  bool answered_ = false;    // an end that has left has been heard of
  std::size_t backlog_ = 0;
  PeerCredentials listener_credentials_;
  std::deque<std::shared_ptr<StreamSocket>> pending_;
  std::shared_ptr<StreamConnection> connection_;
  End end_ = End::first;
};

}  // namespace cloche::kernel
