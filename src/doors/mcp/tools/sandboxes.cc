// SPDX-License-Identifier: Apache-2.0
// sandbox_create, sandbox_fork, sandbox_list, sandbox_delete.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "base/error.h"
#include "doors/mcp/consent.h"
#include "doors/mcp/content.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

constexpr std::size_t fork_limit = 20;
constexpr std::size_t package_limit = 100;
constexpr double most_ttl_s = 30 * 24 * 3600.0;

void check_name(const Scope& scope, const std::string& name) {
  if (!is_name(name)) {
    throw ToolError{
        fmt::format("'{}' is no name: one has up to 63 of a-z, 0-9, '.', '_' and '-', "
                    "and begins with a letter or a digit",
                    shown(name))};
  }
  if (scope.find(name))
    throw ToolError{fmt::format("there is a sandbox '{}' already: take another name", name)};
}

// A name that somebody gave outlives the session; one that nobody gave is made up.
Space& space_of(const Scope& scope, bool is_named) { return is_named ? *scope.named : *scope.own; }

LiveSandbox fresh_sandbox(const std::optional<LiveSandbox>& snapshot,
                          const std::vector<std::string>& packages,
                          const std::vector<std::string>& rules) {
  LiveSandbox live = fork_sandbox(*snapshot);
  if (!packages.empty()) {
    if (const auto installed = live.sandbox->install_packages(packages); !installed)
      throw ToolError{named_sentence(installed.error())};
  }
  if (!rules.empty()) {
    std::vector<std::string> all = live.sandbox->network_rules();
    all.insert(all.end(), rules.begin(), rules.end());
    live.sandbox->set_network_rules(std::move(all));
  }
  return live;
}

ToolResult run_create(Call& call) {
  const Arguments& arguments = call.arguments();
  const Scope& scope = call.scope();
  const std::optional<std::string> given = arguments.optional_text("name");
  if (given) check_name(scope, *given);
  const std::string name = given ? *given : scope.free_name("sandbox");
  const std::vector<std::string> packages = arguments.words("packages");
  if (packages.size() > package_limit)
    throw ToolError{fmt::format("'packages' may have {} names at most", package_limit)};
  const std::vector<std::string> rules = arguments.words("network");
  std::optional<LiveSandbox> snapshot;
  if (const auto from = arguments.optional_text("from_snapshot")) {
    snapshot = scope.snapshot(*from);
    if (!snapshot) {
      throw ToolError{fmt::format("there is no snapshot '{}': there is {}", shown(*from),
                                  scope.snapshots().empty()
                                      ? "none"
                                      : fmt::format("{}", fmt::join(scope.snapshots(), ", ")))};
    }
  }
  if (!rules.empty() && !call.hub().covers(rules)) ask_consent(call, rules, name, {});

  SandboxOptions options = call.hub().options().sandbox;
  options.packages.insert(options.packages.end(), packages.begin(), packages.end());
  options.network.allow.insert(options.network.allow.end(), rules.begin(), rules.end());
  Hub::NewBox about{.name = name, .ttl = std::chrono::seconds(arguments.integer("ttl_s", 0))};
  Space& space = space_of(scope, given.has_value());
  const std::shared_ptr<Box> box =
      snapshot ? call.hub().add_box(space, about,
                                    [snapshot, packages, rules] {
                                      return fresh_sandbox(snapshot, packages, rules);
                                    })
               : call.hub().add_box(space, about, options);
  try {
    (void)box->live();
  } catch (...) {
    (void)space.remove(name);
    throw;
  }
  return {.text = fmt::format("Made the sandbox {}", name), .structured = {{"sandbox", name}}};
}

ToolResult run_fork(Call& call) {
  const Arguments& arguments = call.arguments();
  const Scope& scope = call.scope();
  std::vector<std::string> names = arguments.words("names");
  const std::size_t count =
      names.empty() ? static_cast<std::size_t>(arguments.integer("count", 1)) : names.size();
  if (count > fork_limit)
    throw ToolError{fmt::format("there may be {} forks at a time", fork_limit)};
  if (!names.empty() && arguments.has("count") &&
      arguments.integer("count", 1) != static_cast<std::int64_t>(names.size()))
    throw ToolError{"'count' and the number of 'names' differ: give one of them"};
  const bool is_named = !names.empty();
  for (const std::string& name : names) check_name(scope, name);
  const LiveSandbox live = call.live();
  std::vector<std::string> made;
  Space& space = space_of(scope, is_named);
  try {
    for (std::size_t number = 0; number < count; ++number) {
      const std::string name = is_named ? names[number] : scope.free_name(call.box().name());
      LiveSandbox twin = fork_sandbox(live);
      const auto box = call.hub().add_box(space, {.name = name, .parent = call.box().name()},
                                          [twin] { return twin; });
      made.push_back(name);
      (void)box->live();
    }
  } catch (...) {
    // All of them, or none.
    for (const std::string& name : made) (void)space.remove(name);
    throw;
  }
  return {.text = fmt::format("Forked {} to {}", call.box().name(), fmt::join(made, ", ")),
          .structured = {{"sandboxes", made}}};
}

ToolResult run_list(Call& call) {
  Reply list = Reply::array();
  std::string text;
  for (const std::shared_ptr<Box>& box : call.scope().all()) {
    const LiveSandbox live = box->live_if_made();
    const SandboxUsage usage = live ? live.sandbox->usage() : SandboxUsage();
    const double idle_s = std::chrono::duration<double>(box->idle()).count();
    list.push_back({{"name", box->name()},
                    {"parent", box->parent().empty() ? Reply(nullptr) : Reply(box->parent())},
                    {"created", time_text(box->created())},
                    {"idle_s", idle_s},
                    {"memory_bytes", usage.memory_bytes},
                    {"file_bytes", usage.file_bytes},
                    {"processes", usage.processes}});
    text += fmt::format("{}{}: idle for {:.0f} s, {} bytes of files, {} processes\n", box->name(),
                        box->parent().empty() ? "" : fmt::format(" (fork of {})", box->parent()),
                        idle_s, usage.file_bytes, usage.processes);
  }
  if (text.empty()) text = "(none yet: default is made at its first use)";
  return {.text = text, .structured = {{"sandboxes", std::move(list)}}};
}

ToolResult run_delete(Call& call) {
  const std::string name = call.arguments().text("sandbox");
  if (!call.scope().own->remove(name) && !call.scope().named->remove(name)) {
    std::vector<std::string> names;
    for (const std::shared_ptr<Box>& box : call.scope().all()) names.push_back(box->name());
    throw ToolError{
        fmt::format("there is no sandbox '{}': there is {}", shown(name),
                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))};
  }
  return {.text = fmt::format("Deleted the sandbox {}", name), .structured = Reply::object()};
}

}  // namespace

Tool sandbox_create_tool() {
  Tool tool;
  tool.name = "sandbox_create";
  tool.title = "Make a sandbox";
  tool.description =
      "Makes a further sandbox, empty or from a snapshot; the one called default needs no making. "
      "One that was given a name stays until it is deleted, is not used for long, or its ttl_s is "
      "over. For rules of the network the user is asked unless the operator has allowed them. "
      "Example: {\"name\": \"tests\", \"packages\": [\"numpy\"], \"ttl_s\": 3600}";
  tool.parameters = {
      {"name",
       Kind::word,
       "How it is called from now on. Without it a name is made up.",
       Need::optional,
       0,
       0,
       {},
       "^[a-z0-9][a-z0-9._-]{0,62}$"},
      {"packages", Kind::words, "Python packages that it has from the start."},
      {"network", Kind::words, "Rules of what it may reach, as the tool network has them."},
      {"ttl_s", Kind::integer, "It ends after so many seconds.", Need::optional, 1, most_ttl_s},
      {"from_snapshot", Kind::word, "It goes on from this snapshot."}};
  tool.output = R"({"type":"object","properties":{"sandbox":{"type":"string",
"description":"its name"}},"required":["sandbox"]})";
  tool.run = run_create;
  tool.target = Tool::Target::names;
  tool.order = Tool::Order::overtakes;
  return tool;
}

Tool sandbox_fork_tool() {
  Tool tool;
  tool.name = "sandbox_fork";
  tool.title = "Fork a sandbox";
  tool.description =
      "Makes copies of a sandbox that go on from here, each for itself: files, the shell with its "
      "variables, the live Python with its names. Costs next to nothing; commands in the "
      "background are not in it. Use it to try several ways side by side. Example: {\"count\": 3} "
      "gives default-1, default-2 and default-3.";
  tool.parameters = {{"count", Kind::integer, "How many (1).", Need::optional, 1, fork_limit},
                     {"names", Kind::words, "What they are called. Without it names are made up."},
                     sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{"sandboxes":{"type":"array",
"items":{"type":"string"},"description":"their names"}},"required":["sandboxes"]})";
  tool.run = run_fork;
  tool.order = Tool::Order::overtakes;
  return tool;
}

Tool sandbox_list_tool() {
  Tool tool;
  tool.name = "sandbox_list";
  tool.title = "List sandboxes";
  tool.description =
      "Which sandboxes there are: what each is a fork of, how long it was not used, and what it "
      "takes. Example: {}";
  tool.output = R"({"type":"object","properties":{"sandboxes":{"type":"array","items":{
"type":"object","properties":{"name":{"type":"string"},"parent":{"type":["string","null"]},
"created":{"type":"string"},"idle_s":{"type":"number"},"memory_bytes":{"type":"integer"},
"file_bytes":{"type":"integer"},"processes":{"type":"integer"}},
"required":["name","parent","created","idle_s","memory_bytes","file_bytes","processes"]}}},
"required":["sandboxes"]})";
  tool.run = run_list;
  tool.target = Tool::Target::names;
  tool.order = Tool::Order::overtakes;
  tool.effect = Tool::Effect::reads;
  return tool;
}

Tool sandbox_delete_tool() {
  Tool tool;
  tool.name = "sandbox_delete";
  tool.title = "Delete a sandbox";
  tool.description =
      "Ends a sandbox with all that is in it: files, processes, names. Snapshots and forks of it "
      "stay. default is made anew, empty, when it is used again. Example: {\"sandbox\": "
      "\"default-2\"}";
  tool.parameters = {{"sandbox", Kind::word, "Which one, by its name.", Need::required}};
  tool.output = R"({"type":"object","properties":{}})";
  tool.run = run_delete;
  tool.target = Tool::Target::names;
  tool.order = Tool::Order::overtakes;
  tool.effect = Tool::Effect::destroys;
  return tool;
}

}  // namespace cloche::mcp
