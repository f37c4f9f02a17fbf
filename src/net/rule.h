// Rule: one line of a network policy, see cloche/network.h. Immutable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/sockets/address.h"

namespace cloche::net {

// A name as rules compare it: lower case, without a dot at the end. Empty for what is no host name.
std::string canonical_name(std::string_view name);
// '*' stands for any number of characters, '?' for one.
bool glob_matches(std::string_view pattern, std::string_view text);
// The address of a literal in its one usual form (1.2.3.4, 2001:db8::1); none for decimal, octal or
// hexadecimal spellings, which are names that nobody has.
std::optional<kernel::IpAddress> parse_literal(std::string_view text);

class Rule {
 public:
  // Throws std::invalid_argument with one sentence.
  explicit Rule(std::string_view text);

  const std::string& text() const noexcept { return text_; }
  bool has_port(std::uint16_t port) const;
  bool has_name(std::string_view canonical) const;
  bool has_address(const kernel::IpAddress& address) const;
  bool has_all_ports() const noexcept { return ports_.empty(); }
  bool is_localhost() const noexcept { return name_ == "localhost"; }

 private:
  void parse_ports(std::string_view text);
  void parse_host(std::string_view text);

  struct Ports {
    std::uint16_t first, last;
  };
  std::string text_;
  std::string name_;  // or a glob; empty for a range of addresses
  std::optional<kernel::IpAddress> base_;
  unsigned bits_ = 128;       // of base_ in its IPv6 form
  std::vector<Ports> ports_;  // none: all
};

}  // namespace cloche::net
