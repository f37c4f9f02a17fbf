// SPDX-License-Identifier: Apache-2.0
#include "native/warden/joint.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "native/warden/alarm.h"
#include "native/warden/routes.h"

namespace cloche::warden {
namespace {

constexpr int backlog = 16;
constexpr int most_wait_ms = 50;

int option_of(const Fd& socket, int level, int name) noexcept {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket.get(), level, name, &value, &size) == 0 ? value : -1;
}

void set_option(const Fd& socket, int level, int name, int value = 1) noexcept {
  (void)::setsockopt(socket.get(), level, name, &value, sizeof value);
}

// The socket of the guest does not block while this one is there.
class NonBlocking {
 public:
  explicit NonBlocking(int fd) noexcept : fd_(fd), flags_(::fcntl(fd, F_GETFL)) {
    if (flags_ >= 0) (void)::fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
  }
  ~NonBlocking() {
    if (flags_ >= 0) (void)::fcntl(fd_, F_SETFL, flags_);
  }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  const int fd_;
  const int flags_;
};

SocketName name_of(int fd, decltype(::getsockname)* which) noexcept {
  SocketName name;
  name.size = sizeof name.bytes;
  if (which(fd, name.get(), &name.size) != 0) name.size = 0;
  return name;
}

// The address and port alone, an IPv4 one in its mapped form.
struct Endpoint {
  std::array<std::uint8_t, 16> address{};
  in_port_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

Endpoint endpoint_of(const SocketName& name) noexcept {
  Endpoint endpoint;
  if (name.bytes.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &name.bytes, sizeof in);
    endpoint.address[10] = endpoint.address[11] = 0xff;
    std::memcpy(endpoint.address.data() + 12, &in.sin_addr, 4);
    endpoint.port = in.sin_port;
  } else if (name.bytes.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &name.bytes, sizeof in);
    std::memcpy(endpoint.address.data(), &in.sin6_addr, 16);
    endpoint.port = in.sin6_port;
  }
  return endpoint;
}

bool is_v4(const Endpoint& endpoint) noexcept {
  constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(mapped.begin(), mapped.end(), endpoint.address.begin());
}

// As a socket of this family has it. A family of IPv6 reaches what is of IPv4, too.
SocketName name_at(const Endpoint& endpoint, sa_family_t family) noexcept {
  SocketName name;
  if (family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = endpoint.port;
    std::memcpy(&in.sin_addr, endpoint.address.data() + 12, 4);
    std::memcpy(&name.bytes, &in, sizeof in);
    name.size = sizeof in;
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = endpoint.port;
    std::memcpy(&in.sin6_addr, endpoint.address.data(), 16);
    std::memcpy(&name.bytes, &in, sizeof in);
    name.size = sizeof in;
  }
  return name;
}

Fd listen_at(const Endpoint& endpoint) noexcept {
  const sa_family_t family = is_v4(endpoint) ? AF_INET : AF_INET6;
  Fd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  set_option(socket, SOL_SOCKET, SO_REUSEADDR);
  // At an address that belongs to no device.
  if (family == AF_INET) {
    set_option(socket, IPPROTO_IP, IP_TRANSPARENT);
  } else {
    set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY);
    set_option(socket, IPPROTO_IPV6, IPV6_TRANSPARENT);
  }
  const SocketName name = name_at(endpoint, family);
  if (::bind(socket.get(), name.get(), name.size) != 0 || ::listen(socket.get(), backlog) != 0)
    return {};
  return socket;
}

bool connect_to(const Fd& guest, const SocketName& to) noexcept {
  set_option(guest, SOL_SOCKET, SO_MARK, own_mark);
  const NonBlocking holds(guest.get());
  const Alarm ends(most_wait_ms);  // in case the guest makes its socket block again
  if (::connect(guest.get(), to.get(), Questions::own_length) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd waiting{.fd = guest.get(), .events = POLLOUT, .revents = 0};
  const int ready = ::poll(&waiting, 1, most_wait_ms);
  const int error = ready > 0 ? option_of(guest, SOL_SOCKET, SO_ERROR) : ETIMEDOUT;
  if (error == 0) return true;
  errno = error > 0 ? error : ETIMEDOUT;
  return false;
}

}  // namespace

bool is_tcp(const Fd& socket) noexcept {
  const int family = socket ? option_of(socket, SOL_SOCKET, SO_DOMAIN) : -1;
  return (family == AF_INET || family == AF_INET6) &&
         option_of(socket, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP;
}

bool is_unconnected(const Fd& socket) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_state == TCP_CLOSE;
}

bool is_nonblocking(const Fd& socket) noexcept {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

Fd listen_at(const SocketName& at) noexcept { return listen_at(endpoint_of(at)); }

Fd join(const Fd& guest, const SocketName& to) noexcept {
  Endpoint endpoint = endpoint_of(to);
  Fd listener = listen_at(endpoint);
  // NOLINTNEXTLINE(clang-analyzer-unix.Errno): a close that succeeds leaves what failed before it
  if (!listener && errno == EADDRINUSE) {
    const bool v4 = is_v4(endpoint);
    endpoint = {};
    endpoint.address[15] = 1;
    if (v4) endpoint.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    listener = listen_at(endpoint);
    if (listener) endpoint = endpoint_of(name_of(listener.get(), ::getsockname));
  }
  if (!listener) return {};
  const int family = option_of(guest, SOL_SOCKET, SO_DOMAIN);
  if (!connect_to(guest, name_at(endpoint, static_cast<sa_family_t>(family)))) return {};
  const Endpoint own = endpoint_of(name_of(guest.get(), ::getsockname));
  // Somebody else may have found the way here in the meantime.
  for (int i = 0; i <= backlog; ++i) {
    Fd ours(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!ours) return {};
    if (endpoint_of(name_of(ours.get(), ::getpeername)) == own) return ours;
  }
  errno = EAGAIN;
  return {};
}

}  // namespace cloche::warden
