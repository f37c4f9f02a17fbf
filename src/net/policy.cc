#include "net/policy.h"

#include <fmt/format.h>

#include "net/address_class.h"

namespace cloche::net {

Policy::Policy(const NetworkOptions& options) {
  for (const std::string& text : options.allow) allow_.emplace_back(text);
  for (const std::string& text : options.deny) deny_.emplace_back(text);
}

Verdict Policy::judge_name(std::string_view canonical) const {
  for (const Rule& rule : deny_) {
    if (rule.has_name(canonical) && rule.has_all_ports())
      return {false, fmt::format("the rule '{}' denies it", rule.text()), {}};
  }
  for (const Rule& rule : allow_) {
    if (rule.has_name(canonical)) return {true, rule.text(), std::string(canonical)};
  }
  return {false, "no rule allows this name", {}};
}

Verdict Policy::judge(const kernel::IpAddress& address, std::uint16_t port,
                      const std::set<std::string>& names) const {
  if (port == 0) return {false, "there is no port 0", {}};
  const auto inner = embedded_address(address);
  std::set<std::string> denied;
  for (const Rule& rule : deny_) {
    if (!rule.has_port(port)) continue;
    if (rule.has_address(address) || (inner && rule.has_address(*inner)))
      return {false, fmt::format("the rule '{}' denies it", rule.text()), {}};
    for (const std::string& name : names) {
      if (rule.has_name(name)) denied.insert(name);
    }
  }
  const AddressClass kind = class_of(address);
  const std::string* host = names.empty() ? nullptr : &*names.begin();
  for (const Rule& rule : allow_) {
    if (!rule.has_port(port)) continue;
    // Whoever names an address means it, whatever leads there.
    if (rule.has_address(address) && (!host || denied.size() < names.size()))
      return {true, rule.text(), host ? *host : std::string()};
    for (const std::string& name : names) {
      if (denied.contains(name) || !rule.has_name(name)) continue;
      if (kind == AddressClass::global ||
          (kind == AddressClass::loopback && rule.is_localhost() && name == "localhost"))
        return {true, rule.text(), name};
    }
    if (kind == AddressClass::loopback && rule.is_localhost())
      return {true, rule.text(), "localhost"};
  }
  if (kind != AddressClass::global) {
    return {false,
            fmt::format("{} is a {} address, and no rule names it", address.text(), name_of(kind)),
            host ? *host : std::string()};
  }
  return {false,
          host ? fmt::format("no rule allows {}, port {}", *host, port)
               : fmt::format("no rule allows {}, port {}", address.text(), port),
          host ? *host : std::string()};
}

}  // namespace cloche::net
