// SPDX-License-Identifier: Apache-2.0
// Hub: what all clients of the door share: how sandboxes are made and how many there may be, the
// threads that calls run on, and the key of what clients bring back. Thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/share_limit.h"
#include "cloche/engine.h"
#include "doors/mcp/request_states.h"
#include "doors/mcp/space.h"
#include "session/timers.h"
#include "session/worker_pool.h"

namespace cloche::mcp {

enum class ToolSet : std::uint8_t {
  all,
  minimal,    // bash, Python and files
  anthropic,  // the two that models were trained on
};

// "all", "minimal" or "anthropic".
std::optional<ToolSet> tool_set_of(std::string_view name);

// What Python has where nobody says otherwise.
inline constexpr std::array usual_packages{"numpy", "pandas", "matplotlib", "scikit-learn"};

struct HubOptions {
  SandboxOptions sandbox;          // of every sandbox
  std::vector<std::string> allow;  // rules of the network that may be opened without asking
  ToolSet tools = ToolSet::all;
  // Of all clients, and of one owner, 0: only that of all. Of snapshots as well, apart.
  std::size_t sandbox_limit = 1000;
  std::size_t sandbox_limit_per_owner = 0;
  std::chrono::milliseconds idle_timeout{0};  // of a sandbox; 0: none
  // Why none of either can be made now, one sentence; empty: it can.
  std::function<std::string()> refusal;
};

class Hub {
 public:
  using EngineMaker = std::function<Engine&()>;

  // `engine` is asked when the first sandbox is needed, on any thread. What it gives, and `pool`,
  // outlive this. Throws Error for a rule that is none.
  Hub(HubOptions options, EngineMaker engine, session::WorkerPool& pool);
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  const HubOptions& options() const noexcept { return options_; }
  session::Timers& timers() noexcept { return timers_; }
  RequestStates& states() noexcept { return states_; }
  session::WorkerPool& pool() noexcept { return pool_; }

  std::shared_ptr<Space> make_space(const std::string& owner = {}) {
    return std::make_shared<Space>(timers_, owner);
  }

  // A box that is in `space` from now on. Throw ToolError.
  struct NewBox {
    std::string name;
    std::string parent = {};
    std::chrono::seconds ttl{0};
  };
  std::shared_ptr<Box> add_box(Space& space, NewBox about, const SandboxOptions& options);
  std::shared_ptr<Box> add_box(Space& space, NewBox about, Box::Maker maker);

  // The one of that name; `default` is made where it is not there. Throws ToolError.
  std::shared_ptr<Box> box(const Scope& scope, const std::string& name);

  std::size_t boxes() const { return sandboxes_->held(); }

  // One more snapshot of that owner's, as long as it is held. Throws ToolError.
  std::shared_ptr<void> count_snapshot(const std::string& owner);

  // Whether the operator lets all of these rules be opened without asking. Throws ToolError for
  // one that is none.
  bool covers(const std::vector<std::string>& rules) const;

 private:
  std::shared_ptr<void> count_one(const std::shared_ptr<ShareLimit>& all, const std::string& owner,
                                  std::string_view what);

  const HubOptions options_;
  const EngineMaker engine_;
  session::WorkerPool& pool_;
  session::Timers timers_;
  RequestStates states_;
  const std::shared_ptr<ShareLimit> sandboxes_, snapshots_;
};

}  // namespace cloche::mcp
