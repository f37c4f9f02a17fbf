// SPDX-License-Identifier: Apache-2.0
#include "net/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace cloche::net {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

// What the guest sees as its own address: nothing of the host.
kernel::InetAddress guest_address(const kernel::InetAddress& to) {
  static std::atomic<std::uint16_t> next{0};
  kernel::InetAddress own;
  own.family = to.family;
  if (to.ip.is_v4()) {
    own.ip = kernel::IpAddress::v4({10, 0, 2, 15});
  } else {
    own.ip.bytes = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0f};
  }
  constexpr unsigned first = 32768, count = 28000;
  own.port = static_cast<std::uint16_t>(first + next++ % count);
  return own;
}

}  // namespace

Connection::Connection(Network& network, UniqueFd fd, Far far,
                       std::shared_ptr<kernel::StreamConnection> stream,
                       std::weak_ptr<kernel::OutboundAttempt> attempt,
                       const NetworkOptions& options)
    : network_(network),
      fd_(std::move(fd)),
      far_(std::move(far)),
      stream_(std::move(stream)),
      attempt_(std::move(attempt)),
      connect_timeout_(options.connect_timeout),
      idle_timeout_(options.idle_timeout) {
  stream_->set_listener(own_end, this);
}

Connection::~Connection() = default;

Result<void> Connection::start_tls(TlsRequest request) {
  if (tls_asked_) return Errno::already;
  tls_asked_ = true;
  tls_request_ = std::move(request);
  plain_left_ = stream_->incoming(own_end).size_bytes();
  network_.wake(*this);
  return {};
}

std::string Connection::origin() const {
  const std::string host = far_.host.empty() ? far_.to.ip.text() : far_.host;
  return (tls_asked_ ? "https://" : "http://") + host + ":" + std::to_string(far_.to.port);
}

std::optional<std::chrono::steady_clock::time_point> Connection::deadline() const {
  if (state_ == State::connecting) return last_activity_ + connect_timeout_;
  if (idle_timeout_.count() > 0) return last_activity_ + idle_timeout_;
  return std::nullopt;
}

bool Connection::serve() {
  if (state_ == State::connecting && !finish_connect()) return state_ != State::ended;
  for (bool progress = true; progress && state_ == State::open;) {
    begin_tls();
    progress = shaking_hands_ && shake_hands();
    progress |= take_from_guest();
    progress |= send_to_host();
    progress |= read_from_host();
    progress |= give_to_guest();
    settle();
  }
  if (state_ == State::open) watch();
  return state_ != State::ended;
}

// True when it is connected.
bool Connection::finish_connect() {
  int error = 0;
  socklen_t size = sizeof error;
  sockaddr_storage peer{};
  socklen_t peer_size = sizeof peer;
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) {
    end(errno_from_host(error));
    return false;
  }
  if (getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
    watch();
    return false;  // still on its way
  }
  state_ = State::open;
  touched(0);
  const std::lock_guard lock(network_.kernel().mutex());
  if (const auto attempt = attempt_.lock()) attempt->established(guest_address(far_.to));
  return true;
}

void Connection::begin_tls() {
  if (tls_ || sent_ < to_host_.size()) return;
  TlsRequest request;
  {
    const std::lock_guard lock(network_.kernel().mutex());
    if (!tls_request_ || plain_left_ > 0) return;
    request = *std::exchange(tls_request_, std::nullopt);
  }
  tls_ = TlsSession::start(network_.tls(), fd_.get(), request);
  if (!tls_) {
    end(Errno::io);
    return;
  }
  shaking_hands_ = true;
  rewriter_.reset();
  // Names that the certificate is good for, and nothing else, get secrets.
  std::string host = canonical_name(request.host);
  rewriter_ = std::make_unique<RequestRewriter>(
      network_.secrets(), std::move(host), [this](const std::string& name, bool allowed) {
        const std::lock_guard lock(network_.kernel().mutex());
        network_.note({NetworkEvent::Kind::secret, allowed, far_.host, far_.to.ip.text(),
                       far_.to.port, name});
      });
}

bool Connection::shake_hands() {
  const TlsProgress progress = tls_->handshake();
  tls_wants_read_ = progress == TlsProgress::wants_read;
  tls_wants_write_ = progress == TlsProgress::wants_write;
  if (tls_wants_read_ || tls_wants_write_) return false;
  shaking_hands_ = false;
  const std::string info = tls_->describe();
  const auto length = static_cast<std::uint32_t>(info.size());
  std::array<char, sizeof length> head{};
  std::memcpy(head.data(), &length, sizeof length);
  from_host_.append(head.data(), head.size());
  from_host_ += info;
  const bool good = progress == TlsProgress::done;
  {
    const std::lock_guard lock(network_.kernel().mutex());
    network_.note({NetworkEvent::Kind::tls, good, far_.host, far_.to.ip.text(), far_.to.port,
                   good ? "the certificate is good" : tls_->problem()});
  }
  if (!good) {
    host_ended_ = guest_ended_ = guest_end_told_ = true;
    to_host_.clear();
    sent_ = 0;
  }
  return true;
}

bool Connection::take_from_guest() {
  if (sent_ < to_host_.size() || guest_ended_ || shaking_hands_) return false;
  std::array<std::byte, piece_bytes> buffer;
  std::size_t count = 0;
  bool ended = false;
  {
    const std::lock_guard lock(network_.kernel().mutex());
    if (tls_request_ && plain_left_ == 0) return true;  // TLS begins first
    std::span<std::byte> piece(buffer);
    if (tls_request_) piece = piece.first(std::min(piece.size(), plain_left_));
    const Result<kernel::Received> received = stream_->receive(own_end, {&piece, 1}, 0);
    if (!received && received.error() == Errno::again) return false;
    if (received) count = received->count;
    ended = count == 0;
    if (tls_request_) plain_left_ -= count;
  }
  to_host_.clear();
  sent_ = 0;
  if (!rewriter_) {
    rewriter_ = std::make_unique<RequestRewriter>(
        network_.secrets(), far_.host, [this](const std::string& name, bool allowed) {
          const std::lock_guard lock(network_.kernel().mutex());
          network_.note({NetworkEvent::Kind::secret, allowed, far_.host, far_.to.ip.text(),
                         far_.to.port, name});
        });
  }
  if (ended) {
    guest_ended_ = true;
    to_host_ = rewriter_->finish();
  } else {
    to_host_ = rewriter_->take({reinterpret_cast<const char*>(buffer.data()), count});
  }
  return true;
}

bool Connection::send_to_host() {
  if (sent_ >= to_host_.size() || shaking_hands_ || (tls_ && guest_end_told_)) return false;
  const auto bytes = std::as_bytes(std::span(to_host_)).subspan(sent_);
  std::size_t count = 0;
  if (tls_) {
    const TlsProgress progress = tls_->write(bytes, count);
    tls_wants_write_ = progress == TlsProgress::wants_write;
    if (progress == TlsProgress::failed || progress == TlsProgress::closed) end(Errno::connreset);
    if (progress != TlsProgress::done) return false;
  } else {
    const ssize_t done = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0) {
      if (errno != EAGAIN && errno != EINTR) end(errno_from_host(errno));
      return false;
    }
    count = static_cast<std::size_t>(done);
  }
  sent_ += count;
  touched(count);
  return count > 0;
}

bool Connection::read_from_host() {
  if (given_ < from_host_.size() || host_ended_ || shaking_hands_) return false;
  from_host_.resize(piece_bytes);
  given_ = 0;
  const auto room = std::as_writable_bytes(std::span(from_host_));
  std::size_t count = 0;
  if (tls_) {
    const TlsProgress progress = tls_->read(room, count);
    tls_wants_read_ = progress == TlsProgress::wants_read;
    if (progress == TlsProgress::closed) host_ended_ = true;
    if (progress != TlsProgress::done) count = 0;
    if (progress == TlsProgress::failed) {
      from_host_.clear();
      end(Errno::connreset);
      return false;
    }
  } else {
    const ssize_t done = recv(fd_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (done < 0 && errno != EAGAIN && errno != EINTR) {
      from_host_.clear();
      end(errno_from_host(errno));
      return false;
    }
    if (done == 0) host_ended_ = true;
    if (done > 0) count = static_cast<std::size_t>(done);
  }
  from_host_.resize(count);
  touched(count);
  return count > 0 || host_ended_;
}

bool Connection::give_to_guest() {
  if (given_ >= from_host_.size()) return false;
  const std::lock_guard lock(network_.kernel().mutex());
  const auto bytes = std::as_bytes(std::span(from_host_)).subspan(given_);
  kernel::Ancillary none;
  const Result<std::size_t> sent = stream_->send(own_end, {&bytes, 1}, 0, none);
  if (!sent && sent.error() == Errno::again) return false;
  if (!sent) {  // the guest reads no more
    given_ = from_host_.size();
    host_ended_ = true;
    return true;
  }
  given_ += *sent;
  return *sent > 0;
}

void Connection::settle() {
  if (state_ != State::open) return;
  if (guest_ended_ && sent_ >= to_host_.size() && !std::exchange(guest_end_told_, true)) {
    if (tls_) tls_->close();
    (void)shutdown(fd_.get(), SHUT_WR);
  }
  const std::lock_guard lock(network_.kernel().mutex());
  if (host_ended_ && given_ >= from_host_.size() && !std::exchange(host_end_told_, true))
    stream_->shut_down_send(own_end);
  const bool all_done = guest_end_told_ && (host_end_told_ || stream_->peer_closed(own_end));
  if (!all_done) return;
  state_ = State::ended;
  stream_->set_listener(own_end, nullptr);
  stream_->close(own_end);
}

void Connection::end(Errno error) {
  if (state_ == State::ended) return;
  const std::lock_guard lock(network_.kernel().mutex());
  stream_->set_listener(own_end, nullptr);
  if (state_ == State::connecting) {
    if (const auto attempt = attempt_.lock()) attempt->failed(error);
    stream_->close(own_end);
  } else {
    stream_->abort(own_end);
  }
  state_ = State::ended;
}

void Connection::abort(Errno error) { end(error); }

void Connection::touched(std::size_t bytes) {
  last_activity_ = std::chrono::steady_clock::now();
  if (bytes > 0 && !network_.count(bytes)) over_limit_ = true;
  if (over_limit_) end(Errno::connreset);
}

void Connection::watch() {
  std::uint32_t events = 0;
  if (state_ == State::connecting) {
    events = EPOLLOUT;
  } else {
    const bool wants_bytes = given_ >= from_host_.size() && !host_ended_;
    if (shaking_hands_ ? tls_wants_read_ : wants_bytes) events |= EPOLLIN;
    if (shaking_hands_ ? tls_wants_write_ : sent_ < to_host_.size()) events |= EPOLLOUT;
  }
  // Without an event that is wanted epoll would still tell of hang-ups, without end.
  if (events == 0) {
    if (std::exchange(in_epoll_, false))
      (void)epoll_ctl(network_.epoll(), EPOLL_CTL_DEL, fd_.get(), nullptr);
    watched_ = 0;
    return;
  }
  if (in_epoll_ && watched_ == events) return;
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.ptr = this;
  if (epoll_ctl(network_.epoll(), in_epoll_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd_.get(), &wanted) ==
      0) {
    in_epoll_ = true;
    watched_ = events;
  }
}

}  // namespace cloche::net
