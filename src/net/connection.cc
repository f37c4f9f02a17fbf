// SPDX-License-Identifier: Apache-2.0
#include "net/connection.h"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace cloche::net {
namespace {

constexpr std::size_t piece_bytes = std::size_t{64} * 1024;
constexpr const char* http_protocol = "http/1.1";

}  // namespace

Connection::Connection(Network& network, UniqueFd fd, DescriptorShare::Permit place, Far far,
                       std::shared_ptr<GuestStream> guest, const NetworkOptions& options)
    : network_(network),
      place_(std::move(place)),
      fd_(std::move(fd)),
      far_(std::move(far)),
      guest_(std::move(guest)),
      connect_timeout_(options.connect_timeout),
      idle_timeout_(options.idle_timeout),
      front_(far_.may_have_secret ? Front::waits : Front::settled) {
  guest_->set_listener(this);
}

Connection::~Connection() = default;

Result<void> Connection::start_tls(TlsRequest request) {
  if (tls_asked_) return Errno::already;
  // The guest would take it for what the host answers, and what comes next for what TLS brings.
  if (guest_->has_unread()) return Errno::proto;
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
  std::optional<std::chrono::steady_clock::time_point> first;
  if (idle_timeout_.count() > 0) first = last_activity_ + idle_timeout_;
  if (front_ == Front::hears || front_ == Front::joins) {
    const auto until = front_since_ + connect_timeout_;
    first = first ? std::min(*first, until) : until;
  }
  return first;
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
  if (given_ < from_host_.size()) {
    note(NetworkEvent::Kind::tls, false, "the host said something before TLS began");
    return end(Errno::proto);
  }
  tls_ = TlsSession::start(network_.tls(), fd_.get(), request);
  if (!tls_) {
    end(Errno::io);
    return;
  }
  shaking_hands_ = true;
  // Names that the certificate is good for, and nothing else, get secrets.
  make_rewriter(canonical_name(request.host));
}

void Connection::make_rewriter(std::string host) {
  rewriter_ = std::make_unique<RequestRewriter>(network_.secrets(), std::move(host),
                                                [this](const std::string& name, bool allowed) {
                                                  note(NetworkEvent::Kind::secret, allowed, name);
                                                });
}

void Connection::note(NetworkEvent::Kind kind, bool allowed, std::string reason) {
  const kernel::KernelLock lock(network_.mutex());
  network_.note({kind, allowed, name(), far_.to.ip.text(), far_.to.port, std::move(reason)});
}

bool Connection::shake_hands() {
  const TlsProgress progress = tls_->handshake();
  tls_wants_read_ = progress == TlsProgress::wants_read;
  tls_wants_write_ = progress == TlsProgress::wants_write;
  if (tls_wants_read_ || tls_wants_write_) return false;
  shaking_hands_ = false;
  const bool good = progress == TlsProgress::done;
  note(NetworkEvent::Kind::tls, good, good ? "the certificate is good" : tls_->problem());
  if (front_ == Front::joins) {
    answer_guest(good);
    return true;
  }
  const std::string info = tls_->describe();
  const auto length = static_cast<std::uint32_t>(info.size());
  std::array<char, sizeof length> head{};
  std::memcpy(head.data(), &length, sizeof length);
  from_host_.append(head.data(), head.size());
  from_host_ += info;
  if (!good) {
    host_ended_ = guest_ended_ = guest_end_told_ = true;
    to_host_.clear();
    sent_ = 0;
  }
  return true;
}

bool Connection::take_from_guest() {
  if (sent_ < to_host_.size() || guest_ended_ || shaking_hands_) return false;
  if (front_ == Front::joins) return join_guest();
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
  std::string_view bytes(reinterpret_cast<const char*>(buffer.data()), count);
  std::string heard;
  if (front_ != Front::settled && !may_pass(bytes, heard)) return true;
  if (!rewriter_) make_rewriter(far_.host);
  if (!bytes.empty()) to_host_ = rewriter_->take(bytes);
  if (ended) {
    guest_ended_ = true;
    to_host_ += rewriter_->finish();
  }
  return true;
}

// --- TLS of the guest's own

// Of what the guest says first, nothing being its end: false where it is kept until more of it is
// known, or because its TLS ends here. Otherwise `bytes` is what goes on, as it came; it is in
// `heard` then.
bool Connection::may_pass(std::string_view& bytes, std::string& heard) {
  if (front_ == Front::waits) {
    const bool is_tls = !bytes.empty() && std::byte(bytes.front()) == GuestTls::first_byte;
    if (is_tls && !host_spoke_) guest_tls_ = GuestTls::start(network_.authority(), guest_);
    front_ = guest_tls_ ? Front::hears : Front::settled;
    front_since_ = std::chrono::steady_clock::now();
    if (!guest_tls_) return true;
  }
  const GuestTls::Hears hears =
      bytes.empty() ? GuestTls::Hears::nonsense : guest_tls_->hear(std::as_bytes(std::span(bytes)));
  if (hears == GuestTls::Hears::more) return false;
  if (hears == GuestTls::Hears::wish && !host_spoke_ && begin_join()) return false;
  heard = guest_tls_->take_heard();
  bytes = heard;
  guest_tls_.reset();
  front_ = Front::settled;
  return true;
}

// False: what the guest wants is no host with a secret. The host's TLS comes first, so that the
// guest hears whether that is good.
bool Connection::begin_join() {
  const GuestTls::Wish& wish = guest_tls_->wish();
  {
    const kernel::KernelLock lock(network_.mutex());
    if (!network_.has_secret_for(wish.host, far_.to)) return false;
    guest_ = guest_tls_;
    name_ = wish.host;
  }
  front_ = Front::joins;
  front_since_ = std::chrono::steady_clock::now();
  if (wish.has_protocols && !wish.takes_http) {
    note(NetworkEvent::Kind::tls, false,
         "the program speaks no HTTP/1.1, which hosts with a secret want");
    guest_tls_->refuse(SSL_AD_NO_APPLICATION_PROTOCOL);
    is_refused_ = true;
    return true;
  }
  TlsRequest request{.host = wish.host, .alpn = {}};
  if (wish.takes_http) request.alpn.emplace_back(http_protocol);
  tls_ = TlsSession::start(network_.tls(), fd_.get(), request);
  if (tls_) {
    shaking_hands_ = true;
  } else {
    end(Errno::io);
  }
  return true;
}

void Connection::answer_guest(bool good) {
  front_since_ = std::chrono::steady_clock::now();
  if (!good) {
    guest_tls_->refuse(tls_->alert());
  } else {
    const bool is_told = guest_tls_->wish().takes_http && tls_->protocol() == http_protocol;
    good = guest_tls_->vouch(guest_tls_->wish().host,
                             is_told ? GuestTls::Protocol::http : GuestTls::Protocol::none);
    if (!good) guest_tls_->refuse(SSL_AD_INTERNAL_ERROR);
  }
  is_refused_ = !good;
}

// True when something has changed.
bool Connection::join_guest() {
  TlsProgress progress{};
  {
    const kernel::KernelLock lock(network_.mutex());
    progress = guest_tls_->handshake();
  }
  if (progress == TlsProgress::wants_read) return false;
  if (progress == TlsProgress::done) {
    front_ = Front::settled;
    touched(0);
    make_rewriter(guest_tls_->wish().host);
    return true;
  }
  if (!is_refused_) {
    note(NetworkEvent::Kind::tls, false,
         fmt::format("the program does not take this sandbox's authority: {}",
                     guest_tls_->problem()));
  }
  end_in_order();
  return true;
}

// So that the guest reads what is there.
void Connection::end_in_order() {
  const kernel::KernelLock lock(network_.mutex());
  guest_->set_listener(nullptr);
  guest_->close();
  state_ = State::ended;
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
  if (count > 0) touched(count);
  return count > 0;
}

bool Connection::read_from_host() {
  if (given_ < from_host_.size() || host_ended_ || shaking_hands_ || front_ == Front::joins)
    return false;
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
  if (count > 0) touched(count);
  host_spoke_ |= count > 0 || host_ended_;
  return count > 0 || host_ended_;
}

bool Connection::give_to_guest() {
  if (front_ == Front::joins || (given_ >= from_host_.size() && !guest_tls_)) return false;
  const kernel::KernelLock lock(network_.mutex());
  if (tls_asked_ && !tls_) return false;
  if (front_ == Front::settled && guest_tls_) (void)guest_tls_->flush();
  if (given_ >= from_host_.size()) return false;
  const auto bytes = std::as_bytes(std::span(from_host_)).subspan(given_);
  const Result<std::size_t> sent = guest_->send(bytes);
  if (!sent && sent.error() == Errno::again) return false;
  if (!sent) {  // the guest reads no more
    given_ = from_host_.size();
    host_ended_ = true;
    return true;
  }
  given_ += *sent;
  if (*sent > 0) last_activity_ = std::chrono::steady_clock::now();
  return *sent > 0;
}

void Connection::settle() {
  if (state_ != State::open) return;
  if (guest_ended_ && sent_ >= to_host_.size() && !std::exchange(guest_end_told_, true)) {
    if (tls_) tls_->close();
    (void)shutdown(fd_.get(), SHUT_WR);
  }
  const kernel::KernelLock lock(network_.mutex());
  if (host_ended_ && given_ >= from_host_.size() && !std::exchange(host_end_told_, true)) {
    if (guest_tls_ && !tls_->has_said_end()) guest_tls_->break_off();
    guest_->shut_down_send();
  }
  const bool all_done =
      guest_end_told_ && (guest_->is_gone() || (host_end_told_ && !guest_->has_unsent()));
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

void Connection::abort(Errno error) {
  const bool is_late = state_ == State::open && error == Errno::timedout &&
                       (front_ == Front::hears || front_ == Front::joins);
  if (is_late) {
    note(NetworkEvent::Kind::tls, false,
         fmt::format("TLS was not agreed on within {} ms", connect_timeout_.count()));
  }
  if (state_ == State::open && host_end_told_) return end_in_order();  // the guest has all
  end(error);
}

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
    const bool wants_bytes = given_ >= from_host_.size() && !host_ended_ && front_ != Front::joins;
    if (shaking_hands_ ? tls_wants_read_ : wants_bytes) of_host |= EPOLLIN;
    if (shaking_hands_ ? tls_wants_write_ : sent_ < to_host_.size()) of_host |= EPOLLOUT;
    if (sent_ >= to_host_.size() && !guest_ended_ && !shaking_hands_) of_guest |= EPOLLIN;
    if (given_ < from_host_.size()) of_guest |= EPOLLOUT;
  }
  watch(host_watch_, fd_.get(), of_host);
  const kernel::KernelLock lock(network_.mutex());
  if (guest_->has_unsent()) of_guest |= EPOLLOUT;
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
