// SPDX-License-Identifier: Apache-2.0
#include "net/rule.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "net/address_class.h"

namespace cloche::net {
namespace {

std::optional<unsigned> parse_number(std::string_view text, unsigned most) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(std::string_view rule, std::string_view why) {
  throw request_error(fmt::format("the network rule '{}' {}", rule, why));
}

}  // namespace

std::string canonical_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty() || name.size() > 253) return {};
  // The host's resolver would take "a.b." for a.b, which rules would not.
  if (name.starts_with('.') || name.ends_with('.') || name.find("..") != name.npos) return {};
  std::string result;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      result.push_back(static_cast<char>(c - 'A' + 'a'));
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
               c == '_') {
      result.push_back(c);
    } else {
      return {};
    }
  }
  return result;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<kernel::IpAddress> parse_literal(std::string_view text) {
  const std::string copy(text);
  std::array<std::uint8_t, 4> octets{};
  if (inet_pton(AF_INET, copy.c_str(), octets.data()) == 1) return kernel::IpAddress::v4(octets);
  kernel::IpAddress address;
  if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

bool is_name_pattern(std::string_view text) {
  std::string plain(text);
  std::ranges::replace(plain, '*', 'x');
  std::ranges::replace(plain, '?', 'x');
  if (canonical_name(plain).empty()) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::ranges::none_of(text, is_digit) || !std::ranges::all_of(text, [&](char c) {
           return is_digit(c) || c == '.' || c == '*' || c == '?';
         });
}

Rule::Rule(std::string_view text) : text_(text) {
  std::string_view host = text;
  std::string_view ports;
  if (text.find("://") != std::string_view::npos)
    refuse(text_, "is the address of a page: write HOST or HOST:PORT");
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) refuse(text_, "has no closing ]");
    host = text.substr(1, end - 1);
    std::string_view rest = text.substr(end + 1);
    if (rest.starts_with(':')) {
      ports = rest.substr(1);
      if (ports.empty()) refuse(text_, "has a : and no port");
    } else if (!rest.empty()) {
      refuse(text_, "has something behind its ] that is no port");
    }
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    if (text.find(':', colon + 1) != std::string_view::npos)
      refuse(text_, "has several colons: put an IPv6 address in [ ]");
    host = text.substr(0, colon);
    ports = text.substr(colon + 1);
    if (ports.empty()) refuse(text_, "has a : and no port");
  }
  parse_host(host);
  if (!ports.empty() && ports != "*") parse_ports(ports);
}

void Rule::parse_host(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (const auto address = parse_literal(text.substr(0, slash))) {
    base_ = address;
    if (slash != std::string_view::npos) {
      const unsigned most = address->is_v4() && text.find(':') == std::string_view::npos ? 32 : 128;
      const auto bits = parse_number(text.substr(slash + 1), most);
      if (!bits) refuse(text_, fmt::format("has a prefix length that is not 0 to {}", most));
      bits_ = most == 32 ? 96 + *bits : *bits;
    }
    return;
  }
  if (slash != std::string_view::npos) refuse(text_, "has a / behind something that is no address");
  std::string plain(text);
  std::ranges::replace(plain, '*', 'x');
  std::ranges::replace(plain, '?', 'x');
  if (canonical_name(plain).empty()) refuse(text_, "has no host name, glob or address");
  name_ = text;
  if (name_.ends_with('.')) name_.pop_back();
  std::ranges::transform(name_, name_.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const bool numeric =
      std::ranges::all_of(plain, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (numeric) refuse(text_, "has an address that is none: write it as 1.2.3.4");
}

void Rule::parse_ports(std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = parse_number(part.substr(0, dash), 65535);
    const auto last = dash == part.size() ? first : parse_number(part.substr(dash + 1), 65535);
    if (!first || !last || *first == 0 || *last < *first)
      refuse(text_, "has a port that is not 1 to 65535, or FROM-TO");
    ports_.push_back({static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)});
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

bool Rule::has_port(std::uint16_t port) const {
  return ports_.empty() || std::ranges::any_of(ports_, [port](const Ports& ports) {
           return ports.first <= port && port <= ports.last;
         });
}

bool Rule::has_name(std::string_view canonical) const {
  return !name_.empty() && !canonical.empty() && glob_matches(name_, canonical);
}

bool Rule::denies_address(const kernel::IpAddress& address) const {
  if (has_address(address)) return true;
  if (name_.empty()) return false;
  if (has_name("localhost") && class_of(address) == AddressClass::loopback) return true;
  return glob_matches(name_, address.text());
}

bool Rule::has_address(const kernel::IpAddress& address) const {
  if (!base_) return false;
  const unsigned whole = bits_ / 8;
  if (std::memcmp(address.bytes.data(), base_->bytes.data(), whole) != 0) return false;
  const unsigned rest = bits_ % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return ((address.bytes[whole] ^ base_->bytes[whole]) & mask) == 0;
}

// A glob of the other's is compared as a text: what stands for its '*' stands for one here too.
bool Rule::covers(const Rule& other) const {
  const bool has_ports =
      ports_.empty() ||
      (!other.ports_.empty() && std::ranges::all_of(other.ports_, [&](const Ports& wanted) {
        return std::ranges::any_of(ports_, [&](const Ports& own) {
          return own.first <= wanted.first && wanted.last <= own.last;
        });
      }));
  if (!has_ports) return false;
  if (other.base_) return base_ && bits_ <= other.bits_ && has_address(*other.base_);
  // A name of loopback is opened by its own name only.
  if (other.is_localhost() || is_localhost()) return other.name_ == name_;
  // A '?' must not stand for a '*'.
  if (name_.find('?') != std::string::npos && other.name_.find('*') != std::string::npos)
    return other.name_ == name_;
  return !name_.empty() && glob_matches(name_, other.name_);
}

}  // namespace cloche::net
