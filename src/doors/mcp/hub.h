// SPDX-License-Identifier: Apache-2.0
// Hub: what all clients of the door share: how sandboxes are made and how many there may be, the
// threads that calls run on, and the key of what clients bring back. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  std::size_t sandbox_limit = 1000;           // of all clients
  std::chrono::milliseconds idle_timeout{0};  // of a sandbox; 0: none
  std::function<std::string()> refusal;  // why none can be made now, one sentence; empty: it can
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

  std::shared_ptr<Space> make_space() { return std::make_shared<Space>(timers_); }

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

  std::size_t boxes() const noexcept { return *sandboxes_; }

  // Whether the operator lets all of these rules be opened without asking. Throws ToolError for
  // one that is none.
  bool covers(const std::vector<std::string>& rules) const;

 private:
  std::shared_ptr<void> count_one();

  const HubOptions options_;
  const EngineMaker engine_;
  session::WorkerPool& pool_;
  session::Timers timers_;
  RequestStates states_;
  const std::shared_ptr<std::atomic<std::size_t>> sandboxes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace cloche::mcp
