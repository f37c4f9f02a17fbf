// SPDX-License-Identifier: Apache-2.0
// DNS messages (RFC 1035), as much as a resolver of the sandbox needs: queries for A and AAAA, and
// answers to them. Queries are the guest's, and may be anything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/sockets/address.h"

namespace cloche::net {

struct DnsQuery {
  static constexpr std::uint16_t a = 1, aaaa = 28;

  std::uint16_t id = 0;
  std::string name;                 // canonical
  std::uint16_t type = 0;           // any
  std::vector<std::byte> question;  // as it came
};

// Bits of the reply's flags. A name that may not be asked for does not exist: any other code lets a
// libc wait for a better answer. Two bits of no meaning in a reply tell our own clients why.
enum class DnsAnswer : std::uint8_t {
  success = 0,
  server_failure = 2,
  no_such_name = 3,
  not_permitted = 0x43,  // by the policy
  no_network = 0x53,
};

// Nothing for what is no query with one question on the internet.
std::optional<DnsQuery> parse_dns_query(std::span<const std::byte> packet);
// `addresses` of the other family are left out.
std::vector<std::byte> dns_reply(const DnsQuery& query, DnsAnswer answer,
                                 const std::vector<kernel::IpAddress>& addresses);

}  // namespace cloche::net
