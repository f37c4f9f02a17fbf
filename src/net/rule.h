// SPDX-License-Identifier: Apache-2.0
// Rule: one line of a network policy, see cloche/network.h. Immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/sockets/address.h"

namespace cloche::net {

// A name as rules compare it: lower case, without a dot at the end. Empty for what is no host name,
// such as one that has an empty part.
std::string canonical_name(std::string_view name);
// '*' stands for any number of characters, '?' for one.
bool glob_matches(std::string_view pattern, std::string_view text);
// The address of a literal in its one usual form (1.2.3.4, 2001:db8::1); none for decimal, octal or
// hexadecimal spellings, which are names that nobody has.
std::optional<kernel::IpAddress> parse_literal(std::string_view text);

// Whether it is a name or a glob of names: no address, no range, no port. "1.2.3.4" and "10.*" are
// none: what they are meant for are addresses.
bool is_name_pattern(std::string_view text);

class Rule {
 public:
  struct Ports {
    std::uint16_t first, last;
  };

  // Throws Error with one sentence.
  explicit Rule(std::string_view text);

  const std::string& text() const noexcept { return text_; }
  bool has_port(std::uint16_t port) const;
  // The ranges that it names, in no order; none: all ports.
  const std::vector<Ports>& ports() const noexcept { return ports_; }
  bool has_name(std::string_view canonical) const;
  // Of a rule that names an address or a range.
  bool has_address(const kernel::IpAddress& address) const;
  // Whether all that the other one allows is allowed by this one too, as far as the two texts tell:
  // where it is true it holds.
  bool covers(const Rule& other) const;
  bool is_localhost() const noexcept { return name_ == "localhost"; }

  // As a denial, which is read as widely as it can be: beside its addresses, a glob has the
  // addresses whose text it matches ("*" all of them, "10.*" those that begin so), and what has the
  // name localhost has this machine's loopback.
  bool denies_address(const kernel::IpAddress& address) const;

 private:
  void parse_ports(std::string_view text);
  void parse_host(std::string_view text);

  std::string text_;
  std::string name_;  // or a glob; empty for a range of addresses
  std::optional<kernel::IpAddress> base_;
  unsigned bits_ = 128;       // of base_ in its IPv6 form
  std::vector<Ports> ports_;  // none: all
};

}  // namespace cloche::net
