// SPDX-License-Identifier: Apache-2.0
#include "net/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "net/address_class.h"

namespace cloche::net {

namespace {

// 127.1, 0x7f000001 and the like, which the host's resolver takes for addresses.
bool ends_in_number(std::string_view name) {
  std::string_view last = name.substr(name.rfind('.') + 1);
  const bool is_hexadecimal = last.starts_with("0x");
  if (is_hexadecimal) last.remove_prefix(2);
  return last.find_first_not_of(is_hexadecimal ? "0123456789abcdef" : "0123456789") == last.npos;
}

}  // namespace

Policy::Policy(const NetworkOptions& options) {
  for (const std::string& text : options.allow) allow_.emplace_back(text);
  for (const std::string& text : options.deny) deny_.emplace_back(text);
}

// Whether some port of `allowed` is left by the denials of this name. The lowest one that is left
// is the first of a range that is allowed, or follows the last of one that is denied.
bool Policy::leaves_a_port(const Rule& allowed, std::string_view name) const {
  const auto is_left = [&](unsigned port) {
    return port != 0 && port <= 65535 && allowed.has_port(static_cast<std::uint16_t>(port)) &&
           std::ranges::none_of(deny_, [&](const Rule& rule) {
             return rule.has_name(name) && rule.has_port(static_cast<std::uint16_t>(port));
           });
  };
  if (is_left(1)) return true;
  for (const Rule::Ports& ports : allowed.ports()) {
    if (is_left(ports.first)) return true;
  }
  return std::ranges::any_of(deny_, [&](const Rule& rule) {
    return std::ranges::any_of(rule.ports(),
                               [&](const Rule::Ports& ports) { return is_left(ports.last + 1U); });
  });
}

Verdict Policy::judge_name(std::string_view canonical) const {
  if (ends_in_number(canonical)) return {false, "it is no name of a host", {}};
  const Rule* allowed = nullptr;
  for (const Rule& rule : allow_) {
    if (!rule.has_name(canonical)) continue;
    if (leaves_a_port(rule, canonical)) return {true, rule.text(), std::string(canonical)};
    allowed = &rule;
  }
  if (allowed == nullptr) return {false, "no rule allows this name", {}};
  const auto denial =
      std::ranges::find_if(deny_, [&](const Rule& rule) { return rule.has_name(canonical); });
  return {false, fmt::format("the rule '{}' denies it", denial->text()), {}};
}

const Rule* Policy::denial_of(const kernel::IpAddress& address, std::uint16_t port) const {
  const auto inner = embedded_address(address);
  // Linux connects the unspecified address to this machine.
  const auto here =
      address.is_any()
          ? std::optional(kernel::IpAddress::loopback(
                address.is_v4() ? kernel::SocketFamily::inet : kernel::SocketFamily::inet6))
          : std::nullopt;
  const auto denial = std::ranges::find_if(deny_, [&](const Rule& rule) {
    return rule.has_port(port) &&
           (rule.denies_address(address) || (inner && rule.denies_address(*inner)) ||
            (here && rule.denies_address(*here)));
  });
  return denial == deny_.end() ? nullptr : &*denial;
}

Verdict Policy::judge(const kernel::IpAddress& address, std::uint16_t port,
                      const std::set<std::string>& names) const {
  if (port == 0) return {false, "there is no port 0", {}};
  const std::string host = names.empty() ? std::string() : *names.begin();
  const auto denied_by = [&](const Rule& rule) {
    return Verdict{false, fmt::format("the rule '{}' denies it", rule.text()), host};
  };
  if (const Rule* rule = denial_of(address, port)) return denied_by(*rule);
  const Rule* denial = nullptr;  // of one of the names
  std::set<std::string> denied;
  for (const Rule& rule : deny_) {
    if (!rule.has_port(port)) continue;
    for (const std::string& name : names) {
      if (!rule.has_name(name)) continue;
      denied.insert(name);
      denial = &rule;
    }
  }
  const AddressClass kind = class_of(address);
  for (const Rule& rule : allow_) {
    if (!rule.has_port(port)) continue;
    // An IPv6 form that holds a loopback address is somebody else's, who may be anywhere.
    const bool is_here = address.is_loopback() && rule.is_localhost();
    // Whoever names an address means it, whatever leads there; but not where a denied name did.
    if (rule.has_address(address) && denied.empty()) return {true, rule.text(), host};
    for (const std::string& name : names) {
      if (denied.contains(name) || !rule.has_name(name)) continue;
      if (kind == AddressClass::global || is_here) return {true, rule.text(), name};
    }
    if (is_here && denied.empty()) return {true, rule.text(), "localhost"};
  }
  if (denial != nullptr) return denied_by(*denial);
  if (kind != AddressClass::global) {
    return {false,
            fmt::format("{} is a {} address, and no rule names it", address.text(), name_of(kind)),
            host};
  }
  return {false,
          fmt::format("no rule allows {}, port {}", host.empty() ? address.text() : host, port),
          host};
}

}  // namespace cloche::net
