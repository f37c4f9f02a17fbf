// SPDX-License-Identifier: Apache-2.0
// SandboxQueue: a sandbox as a connection holds it, with the requests that wait for it.
//
// Requests for one sandbox are served in order, one at a time, on threads of a pool; an idle queue
// has no thread. `cancel` overtakes them. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cloche/python_session.h"
#include "cloche/sandbox.h"
#include "doors/rpc/protocol.h"
#include "session/worker_pool.h"

namespace cloche::rpc {

struct HistoryEntry {
  std::uint64_t number = 0;  // 1 for the first command
  std::string command;
  int exit_code = 0;
  std::int64_t started_ms = 0;  // since 1970, UTC
  double duration_ms = 0;
};

// A sandbox and its Python. Copies share both.
struct LiveSandbox {
  LiveSandbox() = default;
  LiveSandbox(const LiveSandbox&) = default;
  LiveSandbox(LiveSandbox&&) noexcept = default;
  // What was here goes by the destructor: member by member the sandbox would go first.
  LiveSandbox& operator=(LiveSandbox other) noexcept {
    sandbox.swap(other.sandbox);
    python.swap(other.python);
    return *this;
  }
  ~LiveSandbox() = default;

  std::shared_ptr<Sandbox> sandbox;
  std::shared_ptr<PythonSession> python;  // goes before the sandbox

  explicit operator bool() const noexcept { return sandbox != nullptr; }
};

LiveSandbox make_live_sandbox(std::unique_ptr<Sandbox> sandbox);
// An independent place that goes on from here. Throws RpcError.
LiveSandbox fork_live_sandbox(const LiveSandbox& place);

// What cancelling stops: the processes of the sandbox, or the code that its Python runs (which
// keeps its names then).
enum class Runs : std::uint8_t { commands, python };

class SandboxQueue : public std::enable_shared_from_this<SandboxQueue> {
 public:
  struct Job {
    std::string id;  // of the request, as JSON text
    Runs runs = Runs::commands;
    std::function<void()> work;       // must not throw
    std::function<void()> cancelled;  // instead of `work`, when it is cancelled before its turn
  };

  // `pool` outlives it.
  SandboxQueue(std::string name, session::WorkerPool& pool) : name_(std::move(name)), pool_(pool) {}
  ~SandboxQueue();
  SandboxQueue(const SandboxQueue&) = delete;
  SandboxQueue& operator=(const SandboxQueue&) = delete;

  const std::string& name() const noexcept { return name_; }

  // False when too many wait already, or the queue is closed.
  bool post(Job job);
  // Takes a waiting request out, or stops the one that is served. False when there is none such.
  bool cancel(const std::string& id);
  void cancel_all();
  // Cancels all, takes no more, and lets the sandbox go when the last request is answered.
  void close();
  // Waits until nothing is served or waits; false when that takes until `deadline`.
  bool wait_idle(std::chrono::steady_clock::time_point deadline);
  bool is_busy() const;

  // Empty until it is created, and after close.
  LiveSandbox live() const;
  // The one before ends, with all that runs in it.
  void set_live(LiveSandbox place);

  // For the request that is served only.
  std::map<std::string, LiveSandbox>& snapshots() noexcept { return snapshots_; }
  std::uint64_t next_snapshot() noexcept { return ++last_snapshot_; }
  std::deque<HistoryEntry>& history() noexcept { return history_; }
  void remember(HistoryEntry entry);
  // What is served now was asked to stop.
  bool is_cancelled() const;

 private:
  void serve();
  void stop_running(std::uint64_t serial);

  const std::string name_;
  session::WorkerPool& pool_;
  mutable std::mutex mutex_;  // of the members up to the next blank line
  std::condition_variable changed_;
  std::deque<Job> queue_;
  std::optional<std::string> running_;
  Runs runs_ = Runs::commands;
  std::uint64_t serial_ = 0;  // of the request that is served
  bool cancelling_ = false;
  bool active_ = false;
  bool closed_ = false;
  LiveSandbox live_;

  std::map<std::string, LiveSandbox> snapshots_;
  std::uint64_t last_snapshot_ = 0;
  std::deque<HistoryEntry> history_;
  std::uint64_t last_command_ = 0;
};

}  // namespace cloche::rpc
