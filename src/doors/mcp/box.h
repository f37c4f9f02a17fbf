// SPDX-License-Identifier: Apache-2.0
// Box: a sandbox that has a name, with the calls that wait for it.
//
// Calls are done in order, one at a time, on threads of a pool; an idle box has no thread. Its
// sandbox is made when the first call needs it. Thread-safe.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "doors/mcp/own_sandbox.h"
#include "doors/mcp/processes.h"
#include "session/worker_pool.h"

namespace cloche::mcp {

class Box : public std::enable_shared_from_this<Box> {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t waiting_limit = 1000;

  struct Facts {
    std::string name;
    std::string parent;           // that it is a fork of; empty: of none
    std::string owner;            // as of its Scope
    std::shared_ptr<void> count;  // of the limit of sandboxes; given back with the box
    std::chrono::seconds ttl{0};  // 0: none
    std::chrono::milliseconds idle_timeout{0};
  };
  // Throws ToolError.
  using Maker = std::function<LiveSandbox()>;
  // `pool` outlives it.
  Box(Facts facts, Maker maker, session::WorkerPool& pool);
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  const std::string& name() const noexcept { return facts_.name; }
  const std::string& parent() const noexcept { return facts_.parent; }
  std::chrono::system_clock::time_point created() const noexcept { return created_; }
  std::chrono::milliseconds idle() const;

  // `job` must not throw. False when too many wait already.
  bool post(std::function<void()> job);
  // Beside those that wait.
  void post_at_once(std::function<void()> job);

  // Throws ToolError where it cannot be made, or the box was closed.
  LiveSandbox live();
  // Empty: nothing has been made yet, or the box was closed.
  LiveSandbox live_if_made() const;
  // Instead of what is there, which ends.
  void set_live(LiveSandbox live);
  std::shared_ptr<Processes> processes() const;

  // Asked to stop when the box is closed.
  std::stop_token closing() const { return closing_.get_token(); }
  // Ends all that runs in it; calls that wait find no sandbox.
  void close();

  // When it will be closed, as far as one can say now; nothing: never.
  std::optional<Clock::time_point> due() const;

 private:
  void serve();
  void begin_use();
  void end_use();

  const Facts facts_;
  const std::chrono::system_clock::time_point created_ = std::chrono::system_clock::now();
  const Clock::time_point created_steady_ = Clock::now();
  session::WorkerPool& pool_;
  std::stop_source closing_;

  Mutex making_;  // of the making of the first sandbox
  Maker maker_ GUARDED_BY(making_);

  mutable Mutex mutex_;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mutex_);
  bool active_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::size_t uses_ GUARDED_BY(mutex_) = 0;
  Clock::time_point last_use_ GUARDED_BY(mutex_) = Clock::now();
  LiveSandbox live_ GUARDED_BY(mutex_);
  std::shared_ptr<Processes> processes_ GUARDED_BY(mutex_) = std::make_shared<Processes>();
};

}  // namespace cloche::mcp
