// SPDX-License-Identifier: Apache-2.0
// Socket addresses as values, and their form in guest memory (sockaddr_un, sockaddr_in,
// sockaddr_in6).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cloche::kernel {

// AF_* numbers.
enum class SocketFamily : std::uint16_t { unspecified = 0, local = 1, inet = 2, inet6 = 10 };

// An IP address, an IPv4 one in its mapped form (::ffff:a.b.c.d).
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  static IpAddress v4(std::array<std::uint8_t, 4> octets);
  static IpAddress any(SocketFamily family);
  static IpAddress loopback(SocketFamily family);

  bool is_v4() const noexcept;
  bool is_any() const noexcept;
  bool is_loopback() const noexcept;
  std::string text() const;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

struct InetAddress {
  SocketFamily family = SocketFamily::inet;
  IpAddress ip;
  std::uint16_t port = 0;
  std::uint32_t scope_id = 0;
  std::uint32_t flow_info = 0;
};

struct LocalAddress {
  enum class Kind { path, abstract };
  Kind kind = Kind::path;
  std::string name;
};

// monostate: no address: an unnamed local socket, or AF_UNSPEC.
using SocketAddress = std::variant<std::monostate, LocalAddress, InetAddress>;

inline constexpr std::size_t max_address_bytes = 128;

// EINVAL for a length that the family cannot have, EAFNOSUPPORT for an unknown family.
Result<SocketAddress> parse_address(std::span<const std::byte> bytes);
// `family`: of the socket, for the unnamed ones.
std::vector<std::byte> encode_address(const SocketAddress& address, SocketFamily family);

}  // namespace cloche::kernel
