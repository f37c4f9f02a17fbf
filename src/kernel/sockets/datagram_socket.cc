// SPDX-License-Identifier: Apache-2.0
#include "kernel/sockets/datagram_socket.h"

#include <utility>

#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/sockets/socket_table.h"

namespace cloche::kernel {

DatagramSocket::DatagramSocket(Kernel& kernel, SocketFamily family, std::int32_t protocol,
                               std::uint32_t status_flags)
    : Socket(kernel, family, SocketType::datagram, protocol, status_flags),
      incoming_(kernel.buffers()) {}

DatagramSocket::~DatagramSocket() {
  if (bound_ && !local()) table().ports(type()).release(*this);
  if (const std::shared_ptr<DatagramSocket> peer = peer_.lock()) peer->changed.wake_all();
  // Whoever waits for room here must learn that nobody is here any more.
  changed.wake_all();
}

void DatagramSocket::pair(const std::shared_ptr<DatagramSocket>& first,
                          const std::shared_ptr<DatagramSocket>& second,
                          const PeerCredentials& credentials) {
  for (const auto& [one, other] : {std::pair{first, second}, std::pair{second, first}}) {
    one->peer_ = other;
    one->has_peer_ = true;
    one->peer_credentials_ = credentials;
  }
}

Result<void> DatagramSocket::bind_inet(const InetAddress& address) {
  if (address.family != family()) return Errno::afnosupport;
  CLOCHE_ASSIGN(const std::uint16_t port,
                table().ports(type()).claim(*this, address.ip, address.port));
  InetAddress named = address;
  named.port = port;
  local_ = named;
  bound_ = true;
  return {};
}

Result<void> DatagramSocket::bind(Task& task, const SocketAddress& address) {
  if (bound_) return Errno::inval;
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

Result<void> DatagramSocket::connect(Task& task, const SocketAddress& address) {
  if (std::holds_alternative<std::monostate>(address)) {
    has_peer_ = false;
    peer_.reset();
    peer_address_ = {};
    changed.wake_all();
    return {};
  }
  if (local()) {
    CLOCHE_ASSIGN(const std::shared_ptr<Socket> found, table().find_local(task, address, type()));
    const auto peer = std::static_pointer_cast<DatagramSocket>(found);
    if (!peer->accepts_from(*this)) return Errno::perm;
    peer_ = peer;
  } else {
    const auto* inet = std::get_if<InetAddress>(&address);
    if (inet == nullptr || inet->family != family()) return Errno::afnosupport;
    if (!inet->ip.is_loopback() && !inet->ip.is_any()) return Errno::netunreach;
    if (!bound_) CLOCHE_TRY(bind_inet({family(), IpAddress::loopback(family())}));
  }
  has_peer_ = true;
  peer_address_ = address;
  changed.wake_all();
  return {};
}

SocketAddress DatagramSocket::local_address() const {
  if (!local() && !bound_) return InetAddress{family(), IpAddress::any(family())};
  return local_;
}

Result<SocketAddress> DatagramSocket::peer_address() const {
  if (!has_peer_) return Errno::notconn;
  return SocketAddress(peer_address_);
}

bool DatagramSocket::accepts_from(const DatagramSocket& sender) const {
  if (!has_peer_) return true;
  if (local()) return peer_.lock().get() == &sender;
  const auto& wanted = std::get<InetAddress>(peer_address_);
  const auto* from = std::get_if<InetAddress>(&sender.local_);
  return from != nullptr && from->port == wanted.port;
}

Result<std::shared_ptr<DatagramSocket>> DatagramSocket::udp_receiver(const InetAddress& to) {
  if (to.family != family()) return Errno::afnosupport;
  IpAddress ip = to.ip;
  if (ip.is_any()) ip = IpAddress::loopback(ip.is_v4() ? SocketFamily::inet : SocketFamily::inet6);
  if (!ip.is_loopback()) return Errno::netunreach;
  if (to.port == 0) return Errno::inval;
  if (!bound_) CLOCHE_TRY(bind_inet({family(), IpAddress::any(family())}));
  Socket* found = table().ports(type()).find(ip, to.port, InetPorts::Wanted::any);
  if (found == nullptr) return std::shared_ptr<DatagramSocket>();
  return static_cast<DatagramSocket*>(found)->shared_from_this();
}

Result<std::shared_ptr<DatagramSocket>> DatagramSocket::receiver(
    Task& task, const std::optional<SocketAddress>& to) {
  if (!to && !has_peer_) return local() ? Errno::notconn : Errno::destaddrreq;
  if (!local()) {
    const SocketAddress& address = to ? *to : peer_address_;
    const auto* inet = std::get_if<InetAddress>(&address);
    if (inet == nullptr) return Errno::afnosupport;
    return udp_receiver(*inet);
  }
  if (to) {
    CLOCHE_ASSIGN(const std::shared_ptr<Socket> found, table().find_local(task, *to, type()));
    return std::static_pointer_cast<DatagramSocket>(found);
  }
  std::shared_ptr<DatagramSocket> peer = peer_.lock();
  if (!peer) return Errno::connrefused;
  return peer;
}

bool DatagramSocket::ask_resolver(const std::optional<SocketAddress>& to, Gather query) {
  constexpr std::uint16_t name_service = 53;
  const auto server = std::get<InetAddress>(to ? *to : peer_address_);
  Outbound* outbound = table().outbound();
  if (outbound == nullptr || server.port != name_service) return false;
  outbound->query(gathered(query), [weak = weak_from_this(), server](std::vector<std::byte> packet)
                                       REQUIRES(kernel_lock) {
                                         const std::shared_ptr<DatagramSocket> asker = weak.lock();
                                         if (!asker || asker->receive_shut_) return;
                                         Message message;
                                         message.bytes = std::move(packet);
                                         message.from = server;
                                         if (asker->incoming_.push(std::move(message)))
                                           asker->changed.wake_all();
                                       });
  return true;
}

Result<std::size_t> DatagramSocket::deliver(Task& task, std::shared_ptr<DatagramSocket> target,
                                            SendRequest& request) {
  const std::size_t size = total_bytes(request.bytes);
  Deadline deadline;
  const std::weak_ptr<DatagramSocket> weak = target;
  const std::shared_ptr<WaitQueue> queue = target->changed_queue;
  for (;;) {
    if (!target) return Errno::connrefused;
    if (send_shut_ || target->receive_shut_) return broken(task, request.flags);
    Message message;
    message.bytes = gathered(request.bytes);
    message.ancillary = request.ancillary;
    if (!message.ancillary.credentials) message.ancillary.credentials = credentials_of(task);
    message.from = local_;
    if (auto* from = std::get_if<InetAddress>(&message.from)) {
      if (from->ip.is_any()) from->ip = IpAddress::loopback(family());
      from->family = target->family();
    }
    const bool stored = target->incoming_.push(std::move(message));
    if (stored) target->changed.wake_all();
    // UDP loses what finds no room.
    if (stored || !local()) return size;
    if (nonblocking() || (request.flags & msg_dontwait) != 0) return Errno::again;
    if (options().send_timeout.count() > 0 && !deadline) {
      deadline = task.kernel().clock().steady() + options().send_timeout;
    }
    target.reset();
    const Result<void> slept = task.block({queue.get(), &changed}, deadline);
    if (!slept) return slept.error() == Errno::timedout ? Errno::again : slept.error();
    target = weak.lock();
  }
}

Result<std::size_t> DatagramSocket::send(Task& task, SendRequest request) {
  if ((request.flags & msg_oob) != 0) return Errno::notsup;
  if (const std::optional<Errno> error = pending_error()) return *error;
  const std::size_t size = total_bytes(request.bytes);
  CLOCHE_ASSIGN(std::shared_ptr<DatagramSocket> target, receiver(task, request.to));
  if (!local() && size > max_udp_bytes) return Errno::msgsize;
  if (!target && !local() && ask_resolver(request.to, request.bytes)) return size;
  if (!target) {
    // As the answer of a host would say: nobody has that port.
    if (has_peer_) set_error(Errno::connrefused);
    return size;
  }
  if (!target->accepts_from(*this)) {
    if (local()) return Errno::perm;
    return size;
  }
  if (local() && size > target->incoming_.limit() - MessageQueue::overhead_bytes)
    return Errno::msgsize;
  return deliver(task, std::move(target), request);
}

Result<Received> DatagramSocket::receive(Task& task, Scatter to, std::uint32_t flags) {
  if ((flags & msg_oob) != 0) return Errno::notsup;
  Deadline deadline;
  while (incoming_.empty()) {
    if (const std::optional<Errno> error = pending_error()) return *error;
    if (receive_shut_) return Received{};
    CLOCHE_TRY(wait(task, flags, options().receive_timeout, deadline));
  }
  Received received;
  const Message& message = incoming_.front();
  received.full_count = message.bytes.size();
  received.count = scatter(message.bytes, to);
  received.flags = received.count < received.full_count ? msg_trunc : 0;
  received.from = message.from;
  received.ancillary = message.ancillary;
  if (!local() || options().pass_credentials == 0) received.ancillary.credentials.reset();
  if ((flags & msg_peek) == 0) {
    (void)incoming_.pop();
    changed.wake_all();
  }
  return received;
}

Result<void> DatagramSocket::shutdown(std::uint32_t how) {
  if (how > 2) return Errno::inval;
  if (!has_peer_) return Errno::notconn;
  if (how != 1) receive_shut_ = true;
  if (how != 0) send_shut_ = true;
  changed.wake_all();
  return {};
}

std::size_t DatagramSocket::readable_bytes() const {
  // The next datagram's length.
  return incoming_.empty() ? std::size_t{0} : incoming_.front().left();
}

void DatagramSocket::buffers_changed() {
  incoming_.set_limit(static_cast<std::size_t>(options().receive_bytes));
}

PollEvents DatagramSocket::poll() {
  PollEvents ready = has_error() ? pollerr : 0U;
  if (!incoming_.empty() || receive_shut_) ready |= pollin | pollrdnorm;
  if (receive_shut_) ready |= pollrdhup;
  if (receive_shut_ && send_shut_) ready |= pollhup;
  const std::shared_ptr<DatagramSocket> peer = peer_.lock();
  if (!peer || peer->incoming_.has_room()) ready |= pollout | pollwrnorm;
  return ready;
}

void DatagramSocket::poll_sources(PollSources& sources) {
  sources.add(changed);
  if (const std::shared_ptr<DatagramSocket> peer = peer_.lock(); peer && peer.get() != this) {
    sources.add(*peer->changed_queue);
    sources.holders.push_back(peer->changed_queue);
  }
}

}  // namespace cloche::kernel
