// SPDX-License-Identifier: Apache-2.0
#include "net/guest_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace cloche::net {

void GuestSocket::attach(UniqueFd socket, DescriptorShare::Permit place) {
  socket_ = std::move(socket);
  place_.emplace(std::move(place));
  if (is_over_) return abort();
  const int on = 1;
  (void)setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (no_more_is_sent_) shut_down_send();
  if (listener_ != nullptr) listener_->guest_changed();
}

void GuestSocket::give_up() {
  close();
  if (listener_ != nullptr) listener_->guest_changed();
}

void GuestSocket::answer(Result<void> how) {
  if (const Answer told = std::exchange(answer_, nullptr)) told(how);
}

void GuestSocket::established(const kernel::InetAddress&) { answer({}); }

void GuestSocket::failed(Errno error) {
  abort();
  answer(error);
}

Result<std::size_t> GuestSocket::receive(std::span<std::byte> to) {
  if (is_over_) return std::size_t{0};
  if (!socket_) return Errno::again;
  const ssize_t got = recv(socket_.get(), to.data(), to.size(), MSG_DONTWAIT);
  if (got >= 0) return static_cast<std::size_t>(got);
  if (errno == EAGAIN || errno == EINTR) return Errno::again;
  close();  // it was reset
  return std::size_t{0};
}

Result<std::size_t> GuestSocket::send(std::span<const std::byte> from) {
  if (is_over_) return Errno::pipe;
  if (!socket_) return Errno::again;
  const ssize_t done = ::send(socket_.get(), from.data(), from.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (done >= 0) return static_cast<std::size_t>(done);
  return errno == EINTR ? Errno::again : errno_from_host(errno);
}

// At once, or when there is a socket: the far end may have said all before.
void GuestSocket::shut_down_send() {
  no_more_is_sent_ = true;
  if (socket_) (void)shutdown(socket_.get(), SHUT_WR);
}

void GuestSocket::close() {
  is_over_ = true;
  socket_.reset();
  place_.reset();
}

void GuestSocket::abort() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (socket_) (void)setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

void GuestSocket::acknowledge() {
  const int on = 1;
  if (socket_) (void)setsockopt(socket_.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

std::size_t GuestSocket::waiting_bytes() const {
  int count = 0;
  return socket_ && ioctl(socket_.get(), FIONREAD, &count) == 0 ? static_cast<std::size_t>(count)
                                                                : 0;
}

}  // namespace cloche::net
