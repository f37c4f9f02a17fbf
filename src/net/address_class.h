// SPDX-License-Identifier: Apache-2.0
// What kind of address this is: what is not public is reached only when a rule names it.
#pragma once

#include <optional>
#include <string_view>

#include "kernel/sockets/address.h"

namespace cloche::net {

enum class AddressClass : std::uint8_t {
  global,
  unspecified,
  loopback,
  private_use,
  link_local,  // cloud metadata services among them
  shared,      // carrier-grade NAT
  multicast,
  reserved,  // documentation, benchmarks, broadcast, what nobody has been given
};

AddressClass class_of(const kernel::IpAddress& address);
std::string_view name_of(AddressClass kind);

// The IPv4 address inside of an IPv6 one: 6to4, NAT64, Teredo, IPv4-compatible, ISATAP.
std::optional<kernel::IpAddress> embedded_address(const kernel::IpAddress& address);

}  // namespace cloche::net
