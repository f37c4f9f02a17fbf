// SPDX-License-Identifier: Apache-2.0
#include "kernel/sockets/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace cloche::kernel {
namespace {

constexpr std::array<std::uint8_t, 12> mapped_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t path_bytes = 108;

struct SockaddrIn {
  std::uint16_t family;
  std::uint16_t port;  // network order
  std::array<std::uint8_t, 4> ip;
  std::uint8_t zero[8];
};
static_assert(sizeof(SockaddrIn) == 16);

struct SockaddrIn6 {
  std::uint16_t family;
  std::uint16_t port;
  std::uint32_t flow_info;
  std::array<std::uint8_t, 16> ip;
  std::uint32_t scope_id;
};
static_assert(sizeof(SockaddrIn6) == 28);

template <typename T>
T load(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(sizeof(value), bytes.size()));
  return value;
}

template <typename T>
std::vector<std::byte> store(const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

Result<SocketAddress> parse_local(std::span<const std::byte> bytes) {
  const std::span<const std::byte> name = bytes.subspan(sizeof(std::uint16_t));
  if (name.size() > path_bytes) return Errno::inval;
  if (name.empty()) return SocketAddress(std::monostate{});
  const std::string text(reinterpret_cast<const char*>(name.data()), name.size());
  if (text[0] == '\0')
    return SocketAddress(LocalAddress{LocalAddress::Kind::abstract, text.substr(1)});
  return SocketAddress(LocalAddress{LocalAddress::Kind::path, text.substr(0, text.find('\0'))});
}

}  // namespace

IpAddress IpAddress::v4(std::array<std::uint8_t, 4> octets) {
  IpAddress ip;
  std::ranges::copy(mapped_prefix, ip.bytes.begin());
  std::ranges::copy(octets, ip.bytes.begin() + mapped_prefix.size());
  return ip;
}

IpAddress IpAddress::any(SocketFamily family) {
  return family == SocketFamily::inet6 ? IpAddress{} : v4({0, 0, 0, 0});
}

IpAddress IpAddress::loopback(SocketFamily family) {
  if (family != SocketFamily::inet6) return v4({127, 0, 0, 1});
  IpAddress ip;
  ip.bytes[15] = 1;
  return ip;
}

bool IpAddress::is_v4() const noexcept {
  return std::equal(mapped_prefix.begin(), mapped_prefix.end(), bytes.begin());
}

bool IpAddress::is_any() const noexcept {
  return *this == IpAddress{} || *this == v4({0, 0, 0, 0});
}

bool IpAddress::is_loopback() const noexcept {
  return *this == loopback(SocketFamily::inet6) || (is_v4() && bytes[mapped_prefix.size()] == 127);
}

std::string IpAddress::text() const {
  char text[INET6_ADDRSTRLEN] = {};
  if (is_v4()) {
    inet_ntop(AF_INET, bytes.data() + mapped_prefix.size(), text, sizeof(text));
  } else {
    inet_ntop(AF_INET6, bytes.data(), text, sizeof(text));
  }
  return text;
}

Result<SocketAddress> parse_address(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(std::uint16_t) || bytes.size() > max_address_bytes) return Errno::inval;
  switch (static_cast<SocketFamily>(load<std::uint16_t>(bytes))) {
    case SocketFamily::unspecified: return SocketAddress(std::monostate{});
    case SocketFamily::local: return parse_local(bytes);
    case SocketFamily::inet: {
      if (bytes.size() < sizeof(SockaddrIn)) return Errno::inval;
      const auto in = load<SockaddrIn>(bytes);
      return SocketAddress(InetAddress{SocketFamily::inet, IpAddress::v4(in.ip), ntohs(in.port)});
    }
    case SocketFamily::inet6: {
      constexpr std::size_t without_scope = 24;  // RFC 2133's structure
      if (bytes.size() < without_scope) return Errno::inval;
      const auto in = load<SockaddrIn6>(bytes);
      return SocketAddress(InetAddress{SocketFamily::inet6, IpAddress{in.ip}, ntohs(in.port),
                                       in.scope_id, in.flow_info});
    }
  }
  return Errno::afnosupport;
}

std::vector<std::byte> encode_address(const SocketAddress& address, SocketFamily family) {
  if (const auto* local = std::get_if<LocalAddress>(&address)) {
    const bool abstract = local->kind == LocalAddress::Kind::abstract;
    std::string text;
    const auto number = static_cast<std::uint16_t>(SocketFamily::local);
    text.append(reinterpret_cast<const char*>(&number), sizeof(number));
    if (abstract) text.push_back('\0');
    text += local->name;
    if (!abstract) text.push_back('\0');
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  if (const auto* inet = std::get_if<InetAddress>(&address)) {
    if (inet->family == SocketFamily::inet6) {
      return store(SockaddrIn6{static_cast<std::uint16_t>(SocketFamily::inet6), htons(inet->port),
                               inet->flow_info, inet->ip.bytes, inet->scope_id});
    }
    SockaddrIn in{static_cast<std::uint16_t>(SocketFamily::inet), htons(inet->port), {}, {}};
    std::copy(inet->ip.bytes.begin() + mapped_prefix.size(), inet->ip.bytes.end(), in.ip.begin());
    return store(in);
  }
  return store(static_cast<std::uint16_t>(family));
}

}  // namespace cloche::kernel
