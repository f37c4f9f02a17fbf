// SPDX-License-Identifier: Apache-2.0
// network: what of the network a sandbox may reach.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "doors/mcp/consent.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

constexpr std::size_t rule_limit = 100;

void set_rules(Sandbox& sandbox, std::vector<std::string> rules) {
  try {
    sandbox.set_network_rules(std::move(rules));
  } catch (const Error& problem) {
    throw ToolError{problem.what()};
  }
}

ToolResult run_network(Call& call) {
  const Arguments& arguments = call.arguments();
  const std::string action = arguments.text("action");
  const LiveSandbox live = call.live();
  std::vector<std::string> rules = live.sandbox->network_rules();
  const std::vector<std::string> given = arguments.words("rules");
  if (action != "show" && given.empty())
    throw ToolError{"the argument 'rules' is missing: it must be an array of strings"};
  if (action == "allow") {
    if (given.size() > rule_limit || rules.size() + given.size() > rule_limit)
      throw ToolError{fmt::format("there may be {} rules at most", rule_limit)};
    if (!call.hub().covers(given))
      ask_consent(call, given, call.box().name(), arguments.text("reason"));
    for (const std::string& rule : given) {
      if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(rule);
    }
    set_rules(*live.sandbox, rules);
  } else if (action == "revoke") {
    for (const std::string& rule : given) {
      if (std::erase(rules, rule) == 0) {
        throw ToolError{
            fmt::format("there is no rule '{}' in force: there is {}", rule,
                        rules.empty() ? "none" : fmt::format("{}", fmt::join(rules, ", ")))};
      }
    }
    set_rules(*live.sandbox, rules);
  }
  return {.text = rules.empty() ? "There is no network."
                                : fmt::format("May be reached: {}", fmt::join(rules, ", ")),
          .structured = {{"rules", rules}}};
}

}  // namespace

Tool network_tool() {
  Tool tool;
  tool.name = "network";
  tool.title = "Network of a sandbox";
  tool.description =
      "What of the network a sandbox may reach: nothing, unless a rule allows it. `show` tells the "
      "rules in force; `allow` adds some, for which the user is asked unless the operator has "
      "allowed them already; `revoke` takes some back. A rule is HOST, HOST:PORT, *.example.com, "
      "an address or a range such as 10.0.0.0/8:443. Example: {\"action\": \"allow\", \"rules\": "
      "[\"api.github.com:443\"], \"reason\": \"to read the issue\"}";
  tool.parameters = {
      {"action", Kind::choice, "What to do.", Need::required, 0, 0, {"show", "allow", "revoke"}},
      {"rules", Kind::words, "For allow and revoke: which rules."},
      {"reason", Kind::text, "For allow: why, as the user is told."},
      sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{"rules":{"type":"array",
"items":{"type":"string"},"description":"in force"}},"required":["rules"]})";
  tool.run = run_network;
  tool.world = Tool::World::open;
  return tool;
}

}  // namespace cloche::mcp
