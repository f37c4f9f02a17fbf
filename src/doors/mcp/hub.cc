// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "doors/mcp/protocol.h"
#include "doors/mcp/tool_error.h"
#include "net/rule.h"

namespace cloche::mcp {

std::optional<ToolSet> tool_set_of(std::string_view name) {
  if (name == "all") return ToolSet::all;
  if (name == "minimal") return ToolSet::minimal;
  if (name == "anthropic") return ToolSet::anthropic;
  return std::nullopt;
}

namespace {

std::shared_ptr<ShareLimit> limit_of(const HubOptions& options) {
  const std::size_t of_owner = options.sandbox_limit_per_owner;
  return std::make_shared<ShareLimit>(options.sandbox_limit,
                                      of_owner != 0 ? of_owner : options.sandbox_limit);
}

}  // namespace

Hub::Hub(HubOptions options, EngineMaker engine, session::WorkerPool& pool)
    : options_(std::move(options)),
      engine_(std::move(engine)),
      pool_(pool),
      sandboxes_(limit_of(options_)),
      snapshots_(limit_of(options_)) {
  for (const std::string& rule : options_.allow) (void)net::Rule(rule);
  for (const std::string& rule : options_.sandbox.network.allow) (void)net::Rule(rule);
}

std::shared_ptr<void> Hub::count_snapshot(const std::string& owner) {
  return count_one(snapshots_, owner, "snapshots");
}

std::shared_ptr<void> Hub::count_one(const std::shared_ptr<ShareLimit>& all,
                                     const std::string& owner, std::string_view what) {
  if (options_.refusal) {
    if (std::string why = options_.refusal(); !why.empty()) throw ToolError{std::move(why)};
  }
  std::optional<ShareLimit::Permit> permit = all->acquire(owner);
  if (!permit) {
    const bool are_its = all->held() < options_.sandbox_limit;
    throw ToolError{fmt::format("there are {} {}{} already: delete one first",
                                are_its ? options_.sandbox_limit_per_owner : options_.sandbox_limit,
                                what, are_its ? " of yours" : "")};
  }
  // It may outlive this.
  using Counted = std::pair<std::shared_ptr<ShareLimit>, ShareLimit::Permit>;
  return std::make_shared<Counted>(all, *std::move(permit));
}

std::shared_ptr<Box> Hub::add_box(Space& space, NewBox about, const SandboxOptions& options) {
  return add_box(space, std::move(about), [this, options, owner = space.owner()] {
    LiveSandbox live = make_sandbox(engine_(), options);
    if (options_.sandbox_limit_per_owner > 0) live.sandbox->set_owner(owner);
    return live;
  });
}

std::shared_ptr<Box> Hub::add_box(Space& space, NewBox about, Box::Maker maker) {
  auto box =
      std::make_shared<Box>(Box::Facts{.name = about.name,
                                       .parent = std::move(about.parent),
                                       .owner = space.owner(),
                                       .count = count_one(sandboxes_, space.owner(), "sandboxes"),
                                       .ttl = about.ttl,
                                       .idle_timeout = options_.idle_timeout},
                            std::move(maker), pool_);
  if (space.add(box)) return box;
  throw ToolError{fmt::format("there is a sandbox '{}' already: take another name", about.name)};
}

std::shared_ptr<Box> Hub::box(const Scope& scope, const std::string& name) {
  if (auto there = scope.find(name)) return there;
  if (name == default_name) {
    try {
      return add_box(*scope.own, {.name = name}, options_.sandbox);
    } catch (const ToolError&) {
      // Another call may have made it meanwhile.
      if (auto there = scope.find(name)) return there;
      throw;
    }
  }
  std::vector<std::string> names;
  for (const std::shared_ptr<Box>& other : scope.all()) names.push_back(other->name());
  if (std::ranges::find(names, default_name) == names.end()) names.emplace_back(default_name);
  throw ToolError{
      fmt::format("there is no sandbox '{}': there is {}", shown(name), fmt::join(names, ", "))};
}

bool Hub::covers(const std::vector<std::string>& rules) const {
  const auto is_covered = [&](const net::Rule& wanted) {
    const auto covers = [&](const std::string& own) { return net::Rule(own).covers(wanted); };
    return std::ranges::any_of(options_.allow, covers) ||
           std::ranges::any_of(options_.sandbox.network.allow, covers);
  };
  try {
    // Each is read, so that a bad one is told of also where another one is not covered.
    std::size_t covered = 0;
    for (const std::string& rule : rules) covered += is_covered(net::Rule(rule)) ? 1U : 0U;
    return covered == rules.size();
  } catch (const Error& problem) {
    throw ToolError{problem.what()};
  }
}

}  // namespace cloche::mcp
