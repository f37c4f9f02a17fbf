// SPDX-License-Identifier: Apache-2.0
#include "kernel/sockets/inet_ports.h"

#include "kernel/sockets/socket.h"

namespace cloche::kernel {
namespace {

// Whether a socket bound to `bound` receives what goes to `ip`.
bool covers(const IpAddress& bound, Socket& socket, const IpAddress& ip) {
  if (bound == ip) return true;
  if (!bound.is_any()) return false;
  if (bound.is_v4()) return ip.is_v4();
  return !ip.is_v4() || socket.options().v6_only == 0;
}

}  // namespace

bool InetPorts::conflicts(Socket& own, const IpAddress& ip, std::uint16_t port) const {
  const auto [first, last] = claims_.equal_range(port);
  for (auto it = first; it != last; ++it) {
    Socket& other = *it->second.socket;
    if (!covers(it->second.ip, other, ip) && !covers(ip, own, it->second.ip)) continue;
    if (own.options().reuse_port != 0 && other.options().reuse_port != 0) continue;
    if (own.options().reuse_address != 0 && other.options().reuse_address != 0 &&
        !other.listening())
      continue;
    return true;
  }
  return false;
}

Result<std::uint16_t> InetPorts::claim(Socket& socket, const IpAddress& ip, std::uint16_t port) {
  if (!ip.is_any() && !ip.is_loopback()) return Errno::addrnotavail;
  if (port != 0) {
    if (port < first_unprivileged) return Errno::acces;
    if (conflicts(socket, ip, port)) return Errno::addrinuse;
    claims_.emplace(port, Claim{ip, &socket});
    return port;
  }
  for (int tries = last_ephemeral - first_ephemeral + 1; tries > 0; --tries) {
    const std::uint16_t candidate = next_ephemeral_;
    next_ephemeral_ =
        candidate == last_ephemeral ? first_ephemeral : static_cast<std::uint16_t>(candidate + 1);
    if (claims_.contains(candidate)) continue;
    claims_.emplace(candidate, Claim{ip, &socket});
    return candidate;
  }
  return Errno::addrinuse;
}

void InetPorts::release(const Socket& socket) noexcept {
  std::erase_if(claims_, [&](const auto& entry) { return entry.second.socket == &socket; });
}

Socket* InetPorts::find(const IpAddress& ip, std::uint16_t port, Wanted wanted) const {
  Socket* wide = nullptr;
  const auto [first, last] = claims_.equal_range(port);
  for (auto it = first; it != last; ++it) {
    Socket& socket = *it->second.socket;
    if (wanted == Wanted::listening && !socket.listening()) continue;
    if (!covers(it->second.ip, socket, ip)) continue;
    if (!it->second.ip.is_any()) return &socket;
    wide = &socket;
  }
  return wide;
}

}  // namespace cloche::kernel
