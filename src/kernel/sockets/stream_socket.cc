// SPDX-License-Identifier: Apache-2.0
#include "kernel/sockets/stream_socket.h"

#include <algorithm>
#include <utility>

#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/sockets/socket_table.h"

namespace cloche::kernel {
namespace {

// Connections of the host that wait to be accepted, over those of a listener's own backlog.
constexpr std::size_t host_backlog = 128;

}  // namespace

StreamSocket::StreamSocket(Kernel& kernel, SocketFamily family, SocketType type,
                           std::int32_t protocol, std::uint32_t status_flags)
    : Socket(kernel, family, type, protocol, status_flags) {}

StreamSocket::~StreamSocket() {
  stop_listening();
  if (connection_) connection_->close(end_);
  if (bound_ && !local()) table().ports(type()).release(*this);
}

void StreamSocket::stop_listening() {
  listening_ = false;
  for (const std::shared_ptr<StreamSocket>& waiting : std::exchange(pending_, {})) {
    if (waiting->connection_) waiting->connection_->abort(waiting->end_);
  }
  changed.wake_all();
}

void StreamSocket::adopt(std::shared_ptr<StreamConnection> connection, End end) {
  connection_ = std::move(connection);
  end_ = end;
  connection_->set_queue(end, &changed);
  buffers_changed();
}

void StreamSocket::pair(StreamSocket& first, StreamSocket& second,
                        const PeerCredentials& credentials) {
  const auto connection =
      std::make_shared<StreamConnection>(first.kernel().buffers(), first.type());
  connection->identity(End::first).credentials = credentials;
  connection->identity(End::second).credentials = credentials;
  first.adopt(connection, End::first);
  second.adopt(connection, End::second);
}

// --- Names ---

Result<void> StreamSocket::bind_inet(const InetAddress& address) {
  if (address.family != family()) return Errno::afnosupport;
  if (address.ip.is_v4() && family() == SocketFamily::inet6 && options().v6_only != 0)
    return Errno::inval;
  CLOCHE_ASSIGN(const std::uint16_t port,
                table().ports(type()).claim(*this, address.ip, address.port));
  InetAddress named = address;
  named.port = port;
  local_ = named;
  bound_ = true;
  return {};
}

Result<void> StreamSocket::bind(Task& task, const SocketAddress& address) {
  if (bound_ || connection_) return Errno::inval;
  if (local()) {
    CLOCHE_ASSIGN(const LocalAddress name,
                  table().bind_local(task, shared_from_this(), address, node_));
    local_ = name;
    bound_ = true;
    return {};
  }
  const auto* inet = std::get_if<InetAddress>(&address);
  if (inet == nullptr) return Errno::afnosupport;
  return bind_inet(*inet);
}

SocketAddress StreamSocket::local_address() const {
  if (connection_ && !connecting_) return connection_->identity(end_).address;
  if (!local() && !bound_) return InetAddress{family(), IpAddress::any(family())};
  return local_;
}

Result<SocketAddress> StreamSocket::peer_address() const {
  if (!connected()) return Errno::notconn;
  // A TCP connection whose peer has left has no peer any more.
  if (!local() && connection_->peer_closed(end_) && connection_->send_shut(end_))
    return Errno::notconn;
  return connection_->identity(StreamConnection::other(end_)).address;
}

std::optional<PeerCredentials> StreamSocket::peer_credentials() const {
  if (listening_) return listener_credentials_;
  if (!connected()) return std::nullopt;
  return connection_->identity(StreamConnection::other(end_)).credentials;
}

// --- Connecting ---

Result<void> StreamSocket::listen(Task& task, std::int32_t backlog) {
  if (connection_) return Errno::inval;
  if (!bound_) {
    if (local()) return Errno::inval;
    CLOCHE_TRY(bind_inet({family(), IpAddress::any(family())}));
  }
  // A negative backlog is a huge one, as on Linux.
  const std::uint32_t wanted =
      std::min(static_cast<std::uint32_t>(backlog), static_cast<std::uint32_t>(max_backlog));
  backlog_ = std::max<std::size_t>(wanted, 1);
  listening_ = true;
  listener_credentials_ = credentials_of(task);
  return {};
}

Result<void> StreamSocket::connect(Task& task, const SocketAddress& address) {
  if (listening_) return local() ? Errno::inval : Errno::isconn;
  if (connecting_) {
    if (nonblocking()) return Errno::already;
    return wait_established(task);
  }
  if (connection_) return Errno::isconn;
  if (const std::optional<Errno> error = pending_error()) return *error;
  if (local()) return connect_local(task, address);
  const auto* inet = std::get_if<InetAddress>(&address);
  if (inet == nullptr || inet->family != family()) return Errno::afnosupport;
  return connect_inet(task, *inet);
}

Result<void> StreamSocket::connect_local(Task& task, const SocketAddress& address) {
  CLOCHE_ASSIGN(std::shared_ptr<Socket> found, table().find_local(task, address, type()));
  return connect_to(task, std::static_pointer_cast<StreamSocket>(std::move(found)), address);
}

Result<void> StreamSocket::connect_inet(Task& task, const InetAddress& address) {
  InetAddress to = address;
  if (to.ip.is_any())
    to.ip = IpAddress::loopback(to.ip.is_v4() ? SocketFamily::inet : SocketFamily::inet6);
  if (!to.ip.is_loopback()) return connect_outbound(task, to);
  Socket* found = to.port == 0
                      ? nullptr
                      : table().ports(type()).find(to.ip, to.port, InetPorts::Wanted::listening);
  if (found == nullptr && table().outbound() != nullptr && table().outbound()->has_loopback(to))
    return connect_outbound(task, to);
  if (found == nullptr) return Errno::connrefused;
  if (!bound_) CLOCHE_TRY(bind_inet({family(), to.ip}));
  auto& own = std::get<InetAddress>(local_);
  if (own.ip.is_any()) own.ip = to.ip;
  return connect_to(task, static_cast<StreamSocket*>(found)->shared_from_this(), to);
}

Result<void> StreamSocket::connect_to(Task& task, std::shared_ptr<StreamSocket> listener,
                                      const SocketAddress& seen_as) {
  Deadline deadline;
  const std::weak_ptr<StreamSocket> weak = listener;
  const std::shared_ptr<WaitQueue> queue = listener->changed_queue;
  for (;;) {
    if (!listener || !listener->listening_) return Errno::connrefused;
    if (listener->pending_.size() < listener->backlog_) break;
    if (nonblocking()) return Errno::again;
    if (options().send_timeout.count() > 0 && !deadline) {
      deadline = task.kernel().clock().steady() + options().send_timeout;
    }
    listener.reset();
    const Result<void> slept = task.block({queue.get()}, deadline);
    if (!slept) return slept.error() == Errno::timedout ? Errno::again : slept.error();
    listener = weak.lock();
    // Another task may have used this socket during the sleep.
    if (connection_ || listening_) return Errno::isconn;
  }
  CLOCHE_ASSIGN(std::shared_ptr<StreamConnection> connection,
                listener->enqueue({local_, credentials_of(task)}, seen_as));
  adopt(std::move(connection), End::first);
  return {};
}

Result<std::shared_ptr<StreamConnection>> StreamSocket::enqueue(
    const StreamConnection::Identity& from, const SocketAddress& seen_as) {
  CLOCHE_TRY(table().check_room());
  const auto server = std::make_shared<StreamSocket>(kernel(), family(), type(), protocol(), 0);
  server->options() = options();
  const auto connection = std::make_shared<StreamConnection>(kernel().buffers(), type());
  connection->identity(End::first) = from;
  connection->identity(End::second) = {seen_as, listener_credentials_};
  if (local()) {
    connection->identity(End::second).address = local_;
  } else if (family() == SocketFamily::inet6) {
    // Both see the connection in the form of their own family.
    auto& here = std::get<InetAddress>(connection->identity(End::second).address);
    here.family = SocketFamily::inet6;
  }
  server->adopt(connection, End::second);
  pending_.push_back(server);
  changed.wake_all();
  return connection;
}

Result<std::shared_ptr<StreamConnection>> StreamSocket::connect_host(const InetAddress& from,
                                                                     const InetAddress& to) {
  if (!listening_ || pending_.size() >= backlog_ + host_backlog) return Errno::connrefused;
  return enqueue({from, {}}, to);
}

Result<void> StreamSocket::connect_outbound(Task& task, const InetAddress& address) {
  Outbound* outbound = table().outbound();
  if (outbound == nullptr) return Errno::netunreach;
  const auto connection = std::make_shared<StreamConnection>(kernel().buffers(), type());
  connection->identity(End::second).address = address;
  // Everything is in place before the call, since the answer may come within it.
  connecting_ = true;
  adopt(connection, End::first);
  const Result<void> begun =
      outbound->connect(address, connection, std::weak_ptr<OutboundAttempt>(shared_from_this()));
  if (!begun) {
    connecting_ = false;
    connection_.reset();
    connection->close(End::first);
    return begun.error();
  }
  if (connecting_ && nonblocking()) return Errno::inprogress;
  return wait_established(task);
}

Result<void> StreamSocket::start_tls(std::string_view request) {
  Outbound* outbound = table().outbound();
  if (!connected()) return Errno::notconn;
  if (outbound == nullptr || !outbound_) return Errno::notsup;
  const Result<void> begun = outbound->start_tls(*connection_, request);
  // One that has ended is none of its any more.
  return !begun && begun.error() == Errno::notsup ? Errno::connreset : begun;
}

std::string StreamSocket::origin() const {
  const Outbound* outbound = table().outbound();
  return connected() && outbound != nullptr ? outbound->origin(*connection_) : std::string();
}

Result<void> StreamSocket::wait_established(Task& task) {
  Deadline deadline;
  if (options().send_timeout.count() > 0)
    deadline = task.kernel().clock().steady() + options().send_timeout;
  while (connecting_) {
    const Result<void> slept = task.block({&changed}, deadline);
    if (!slept) return slept.error() == Errno::timedout ? Errno::inprogress : slept.error();
  }
  if (const std::optional<Errno> error = pending_error()) return *error;
  return {};
}

void StreamSocket::established(const InetAddress& local) {
  if (!connecting_) return;
  connecting_ = false;
  outbound_ = true;
  connection_->identity(end_).address = local;
  changed.wake_all();
}

void StreamSocket::failed(Errno error) {
  if (!connecting_) return;
  connecting_ = false;
  connection_->close(end_);
  connection_.reset();
  set_error(error);
  changed.wake_all();
}

Result<std::shared_ptr<Socket>> StreamSocket::accept(Task& task, std::uint32_t status_flags) {
  Deadline deadline;
  for (;;) {
    if (!listening_) return Errno::inval;
    if (!pending_.empty()) break;
    CLOCHE_TRY(wait(task, 0, options().receive_timeout, deadline));
  }
  const std::shared_ptr<StreamSocket> accepted = std::move(pending_.front());
  pending_.pop_front();
  accepted->set_status_flags(status_flags);
  changed.wake_all();
  return std::shared_ptr<Socket>(accepted);
}

// --- Data ---

Result<std::size_t> StreamSocket::send(Task& task, SendRequest request) {
  if ((request.flags & msg_oob) != 0) return Errno::notsup;
  if (request.to && local()) return connection_ ? Errno::isconn : Errno::notsup;
  if (const std::optional<Errno> error = pending_error()) return *error;
  const std::size_t total = total_bytes(request.bytes);
  std::size_t sent = 0;
  Deadline deadline;
  for (;;) {
    if (!connection_) return local() ? Errno::notconn : broken(task, request.flags);
    const Result<std::size_t> part =
        connecting_ ? Result<std::size_t>(Errno::again)
                    : connection_->send(end_, request.bytes, sent, request.ancillary);
    if (part) {
      sent += *part;
      if (sent == total) return sent;
      continue;
    }
    Errno error = part.error();
    if (error == Errno::again) {
      const Result<void> slept = wait(task, request.flags, options().send_timeout, deadline);
      if (slept) continue;
      error = slept.error();
    }
    if (sent != 0) return sent;
    return error == Errno::pipe ? refused(task, request.flags, total) : error;
  }
}

Result<std::size_t> StreamSocket::refused(Task& task, std::uint32_t flags, std::size_t total) {
  if (local() || connection_->send_shut(end_)) return broken(task, flags);
  const End peer = StreamConnection::other(end_);
  if (!connection_->send_shut(peer)) return total;  // it reads no more, and has not left
  if (connection_->take_reset(end_)) {
    answered_ = true;
    return Errno::connreset;
  }
  if (std::exchange(answered_, true)) return broken(task, flags);
  return total;
}

Result<Received> StreamSocket::receive(Task& task, Scatter to, std::uint32_t flags) {
  if ((flags & msg_oob) != 0) return local() ? Errno::notsup : Errno::inval;
  if (const std::optional<Errno> error = pending_error()) return *error;
  const std::size_t wanted = total_bytes(to);
  const bool stream = type() == SocketType::stream;
  if (stream && wanted == 0) return Received{};
  Received all;
  Deadline deadline;
  std::vector<std::span<std::byte>> rest(to.begin(), to.end());
  for (;;) {
    if (!connection_) return local() ? Errno::inval : Errno::notconn;
    Result<Received> part =
        connecting_ ? Result<Received>(Errno::again) : connection_->receive(end_, rest, flags);
    if (!part) {
      Errno error = part.error();
      if (error == Errno::again) {
        const Result<void> slept = wait(task, flags, options().receive_timeout, deadline);
        if (slept) continue;
        error = slept.error();
      }
      if (all.count != 0) return all;
      if (error == Errno::connreset) answered_ = true;
      return error;
    }
    const std::size_t before = all.count;
    const bool carried = part->ancillary.files || part->ancillary.credentials;
    if (carried) all.ancillary = std::move(part->ancillary);
    all.count += part->count;
    all.full_count += part->full_count;
    all.flags |= part->flags;
    const bool whole = stream && (flags & msg_waitall) != 0 && (flags & msg_peek) == 0;
    if (!whole || carried || all.count == wanted || all.count == before) break;
    std::size_t skip = part->count;
    for (auto& piece : rest) {
      const std::size_t used = std::min(skip, piece.size());
      piece = piece.subspan(used);
      skip -= used;
    }
  }
  if (local()) {
    const StreamConnection::Identity& peer = connection_->identity(StreamConnection::other(end_));
    all.from = peer.address;
    if (options().pass_credentials != 0 && !all.ancillary.credentials)
      all.ancillary.credentials = peer.credentials;
    if (options().pass_credentials == 0) all.ancillary.credentials.reset();
  }
  return all;
}

Result<void> StreamSocket::shutdown(std::uint32_t how) {
  if (how > 2) return Errno::inval;
  if (listening_ && !local()) {
    if (how != 1) stop_listening();
    return {};
  }
  if (!connected()) return Errno::notconn;
  if (how != 1) connection_->shut_down_receive(end_);
  if (how != 0) connection_->shut_down_send(end_);
  return {};
}

std::size_t StreamSocket::readable_bytes() const {
  return connection_ ? connection_->incoming(end_).size_bytes() : std::size_t{0};
}

void StreamSocket::buffers_changed() {
  if (!connection_) return;
  connection_->incoming(end_).set_limit(static_cast<std::size_t>(options().receive_bytes));
}

PollEvents StreamSocket::poll() {
  const PollEvents error = has_error() ? pollerr : 0U;
  if (listening_) return error | (pending_.empty() ? 0U : pollin | pollrdnorm);
  if (connecting_) return error;
  if (connection_) return error | connection_->poll(end_);
  return error | pollhup | pollout | pollwrnorm;
}

}  // namespace cloche::kernel
