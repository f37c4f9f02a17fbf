// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/network_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "net/rule.h"

namespace cloche::e2b {
namespace {

constexpr std::string_view everything = "*";

bool has_everything(const std::vector<std::string>& rules) {
  return std::ranges::find(rules, everything) != rules.end();
}

// Whether the operator denies all that anyway.
bool is_denied(const std::string& wanted, const std::vector<std::string>& denied) {
  const net::Rule rule(wanted);
  return std::ranges::any_of(denied,
                             [&](const std::string& each) { return net::Rule(each).covers(rule); });
}

bool has_bounds(std::span<const sandbox::Grant> grants) {
  return std::ranges::any_of(
      grants, [](const sandbox::Grant& grant) { return grant.option->flag == "net"; });
}

// What is wished, where it may be had; throws an Error where not.
std::vector<std::string> bounded(const NetworkWish& wish, const SandboxOptions& usual,
                                 std::span<const sandbox::Grant> grants) {
  if (!has_bounds(grants)) {
    for (const std::string& rule : wish.allow) (void)net::Rule(rule);
    return wish.allow;
  }
  const Json asked{{"network", {{"allow", wish.allow}}}};
  return sandbox::options_within(usual, grants, asked, sandbox::Beyond::refused).network.allow;
}

}  // namespace

std::variant<std::optional<std::vector<std::string>>, NetworkRefusal> rules_within(
    const NetworkWish& wish, const SandboxOptions& usual, std::span<const sandbox::Grant> grants) {
  // What is allowed wins, and all else is denied.
  const bool is_closed = !wish.allow_internet_access || has_everything(wish.deny);
  try {
    if (is_closed || !wish.allow.empty()) return std::optional(bounded(wish, usual, grants));
  } catch (const Error& error) {
    return NetworkRefusal{fmt::format("network.allowOut: {}", error.sentence())};
  }
  if (wish.deny.empty()) return std::optional<std::vector<std::string>>();
  if (usual.network.allow.empty()) return std::optional(std::vector<std::string>());
  try {
    for (const std::string& rule : wish.deny) {
      if (is_denied(rule, usual.network.deny)) continue;
      return NetworkRefusal{
          fmt::format("network.denyOut: {} cannot be taken out of what this server opens to each "
                      "sandbox: name in allowOut what is to be open, all else is denied then",
                      rule)};
    }
  } catch (const Error& error) {
    return NetworkRefusal{fmt::format("network.denyOut: {}", error.sentence())};
  }
  return std::optional(usual.network.allow);
}

}  // namespace cloche::e2b
