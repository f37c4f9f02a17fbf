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

}  // namespace

Connection::Connection(Network& network, UniqueFd fd, Far far, std::shared_ptr<GuestStream> guest,
                       const NetworkOptions& options)
    : network_(network),
      fd_(std::move(fd)),
      far_(std::move(far)),
      guest_(std::move(guest)),
      connect_timeout_(options.connect_timeout),
      idle_timeout_(options.idle_timeout) {
  guest_->set_listener(this);
}

Connection::~Connection() = default;

Result<void> Connection::start_tls(TlsRequest request) {
  if (tls_asked_) return Errno::already;
  tls_asked_ = true;
  tls_request_ = std::move(request);
  plain_left_ = guest_->waiting_bytes();
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
  const kernel::KernelLock lock(network_.mutex());
  guest_->established(far_.to);
  return true;
}

void Connection::begin_tls() {
  if (tls_ || sent_ < to_host_.size()) return;
  TlsRequest request;
  {
    const kernel::KernelLock lock(network_.mutex());
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
        const kernel::KernelLock lock(network_.mutex());
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
    const kernel::KernelLock lock(network_.mutex());
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
    const kernel::KernelLock lock(network_.mutex());
    if (tls_request_ && plain_left_ == 0) return true;  // TLS begins first
    std::span<std::byte> piece(buffer);
    if (tls_request_) piece = piece.first(std::min(piece.size(), plain_left_));
    const Result<std::size_t> received = guest_->receive(piece);
    if (!received) return false;
    count = *received;
    ended = count == 0;
    if (tls_request_) plain_left_ -= count;
  }
  to_host_.clear();
  sent_ = 0;
  if (!rewriter_) {
    rewriter_ = std::make_unique<RequestRewriter>(
        network_.secrets(), far_.host, [this](const std::string& name, bool allowed) {
          const kernel::KernelLock lock(network_.mutex());
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
  const kernel::KernelLock lock(network_.mutex());
  const auto bytes = std::as_bytes(std::span(from_host_)).subspan(given_);
  const Result<std::size_t> sent = guest_->send(bytes);
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
  const kernel::KernelLock lock(network_.mutex());
  if (host_ended_ && given_ >= from_host_.size() && !std::exchange(host_end_told_, true))
    guest_->shut_down_send();
  const bool all_done = guest_end_told_ && (host_end_told_ || guest_->is_gone());
  if (!all_done) return;
  state_ = State::ended;
  guest_->set_listener(nullptr);
  guest_->close();
}

void Connection::end(Errno error) {
  if (state_ == State::ended) return;
  const kernel::KernelLock lock(network_.mutex());
  guest_->set_listener(nullptr);
  if (state_ == State::connecting) {
    guest_->failed(error);
  } else {
    guest_->abort();
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
  std::uint32_t of_host = 0, of_guest = 0;
  if (state_ == State::connecting) {
    of_host = EPOLLOUT;
  } else {
    const bool wants_bytes = given_ >= from_host_.size() && !host_ended_;
    if (shaking_hands_ ? tls_wants_read_ : wants_bytes) of_host |= EPOLLIN;
    if (shaking_hands_ ? tls_wants_write_ : sent_ < to_host_.size()) of_host |= EPOLLOUT;
    if (sent_ >= to_host_.size() && !guest_ended_ && !shaking_hands_) of_guest |= EPOLLIN;
    if (given_ < from_host_.size()) of_guest |= EPOLLOUT;
  }
  watch(host_watch_, fd_.get(), of_host);
  const kernel::KernelLock lock(network_.mutex());
  watch(guest_watch_, guest_->descriptor(), of_guest);
}

// Where no event is wanted, epoll would still report hang-ups, again and again.
void Connection::watch(Watch& watch, int fd, std::uint32_t events) {
  if (watch.events == events) return;
  const bool is_new = watch.fd < 0 && fd >= 0;
  if (fd < 0) {  // closed, and so not watched
    watch = {};
    return;
  }
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.ptr = this;
  const int change = is_new ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
  if (epoll_ctl(network_.epoll(), change, fd, &wanted) == 0)
    watch = events == 0 ? Watch{} : Watch{fd, events};
}

}  // namespace cloche::net
