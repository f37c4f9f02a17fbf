// SPDX-License-Identifier: Apache-2.0
// snapshot: a sandbox as it is now, to go back to.
#include <fmt/format.h>

#include <algorithm>

#include "doors/mcp/tool.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

std::string names_text(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string free_snapshot_name(const std::vector<std::string>& taken) {
  for (std::size_t number = 1;; ++number) {
    std::string name = fmt::format("snapshot-{}", number);
    if (std::ranges::find(taken, name) == taken.end()) return name;
  }
}

ToolResult run_snapshot(Call& call) {
  const Arguments& arguments = call.arguments();
  const Scope& scope = call.scope();
  const std::string action = arguments.text("action");
  const std::optional<std::string> given = arguments.optional_text("name");
  const auto told = [&](std::string text) {
    return ToolResult{.text = std::move(text), .structured = {{"snapshots", scope.snapshots()}}};
  };
  if (action == "list") return told(fmt::format("Snapshots: {}", names_text(scope.snapshots())));
  if (action == "save") {
    const std::string name = given ? *given : free_snapshot_name(scope.snapshots());
    if (!is_name(name)) {
      throw ToolError{
          fmt::format("'{}' is no name: one has up to 63 of a-z, 0-9, '.', '_' and "
                      "'-', and begins with a letter or a digit",
                      shown(name))};
    }
    if (scope.snapshot(name)) {
      throw ToolError{fmt::format(
          "there is a snapshot '{}' already: take another name, or delete that one first", name)};
    }
    Space& space = given ? *scope.named : *scope.own;
    std::shared_ptr<void> count = call.hub().count_snapshot(space.owner());
    space.save(name, fork_sandbox(call.live()), std::move(count));
    return told(fmt::format("Saved {} as {}", call.box().name(), name));
  }
  if (!given) throw ToolError{"the argument 'name' is missing: it must be that of a snapshot"};
  const auto not_there = [&] {
    return ToolError{fmt::format("there is no snapshot '{}': there is {}", shown(*given),
                                 names_text(scope.snapshots()))};
  };
  if (action == "restore") {
    const std::optional<LiveSandbox> saved = scope.snapshot(*given);
    if (!saved) throw not_there();
    call.box().set_live(fork_sandbox(*saved));
    return told(fmt::format("{} is as it was in {}", call.box().name(), *given));
  }
  if (!scope.own->drop(*given) && !scope.named->drop(*given)) throw not_there();
  return told(fmt::format("Deleted the snapshot {}", *given));
}

}  // namespace

Tool snapshot_tool() {
  Tool tool;
  tool.name = "snapshot";
  tool.title = "Snapshots";
  tool.description =
      "Saves a sandbox as it is now, or takes it back there: files, shell and live Python. `save` "
      "costs next to nothing; `restore` puts the sandbox where it was, whatever has happened "
      "since, "
      "and ends its processes; a snapshot can be restored again and again, also into another "
      "sandbox. Example: {\"action\": \"save\", \"name\": \"before-upgrade\"}";
  tool.parameters = {{"action",
                      Kind::choice,
                      "What to do.",
                      Need::required,
                      0,
                      0,
                      {"save", "restore", "list", "delete"}},
                     {"name",
                      Kind::word,
                      "Of the snapshot; for save without it a name is made up.",
                      Need::optional,
                      0,
                      0,
                      {},
                      "^[a-z0-9][a-z0-9._-]{0,62}$"},
                     sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{"snapshots":{"type":"array",
"items":{"type":"string"},"description":"the names of all"}},"required":["snapshots"]})";
  tool.run = run_snapshot;
  return tool;
}

}  // namespace cloche::mcp
