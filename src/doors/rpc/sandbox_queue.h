// SPDX-License-Identifier: Apache-2.0
// SandboxQueue: a sandbox as a connection holds it, with the requests that wait for it.
//
// Requests for one sandbox are served in order, one at a time, on threads of a pool; an idle queue
// has no thread. `cancel` overtakes them. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "doors/rpc/protocol.h"
#include "doors/rpc/subject.h"
#include "session/worker_pool.h"

namespace cloche::rpc {

struct HistoryEntry {
  std::uint64_t number = 0;  // 1 for the first command
  std::string command;
  int exit_code = 0;
  std::int64_t started_ms = 0;  // since 1970, UTC
  double duration_ms = 0;
};

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
  // Takes a waiting request out, or stops the one that is served, with what it runs. False when
  // there is none such.
  bool cancel(const std::string& id);
  void cancel_all();
  // Cancels all, with every process where nobody else has the sandbox, takes no more, and lets the
  // sandbox go when the last request is answered.
  void close();
  // Waits until nothing is served or waits; false when that takes until `deadline`.
  bool wait_idle(std::chrono::steady_clock::time_point deadline);
  bool is_busy() const;

  // Null until it is created, and after close.
  std::shared_ptr<Subject> subject() const;
  void set_subject(std::shared_ptr<Subject> subject);

  // For the request that is served only.
  std::map<std::string, LiveSandbox>& snapshots() noexcept { return snapshots_; }
  std::uint64_t next_snapshot() noexcept { return ++last_snapshot_; }
  const std::deque<HistoryEntry>& history() const noexcept { return history_; }
  // The oldest are forgotten where there are too many, or too long ones; one that is too long
  // itself is not kept.
  void remember(HistoryEntry entry);
  void forget_history() noexcept;
  // Those that the client serves in it, as it gave them; null: none.
  const Json& commands() const noexcept { return commands_; }
  void set_commands(Json commands) { commands_ = std::move(commands); }
  // What is served now was asked to stop.
  bool is_cancelled() const;
  std::stop_token stop_token() const;
  // Whether what is served now has Python's turn: only then cancelling stops Python.
  void set_python_turn(bool has) noexcept { has_python_turn_ = has; }

 private:
  void serve();
  void stop_running(std::uint64_t serial) REQUIRES(mutex_);

  const std::string name_;
  session::WorkerPool& pool_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Job> queue_ GUARDED_BY(mutex_);
  std::optional<std::string> running_ GUARDED_BY(mutex_);
  Runs runs_ GUARDED_BY(mutex_) = Runs::commands;
  std::uint64_t serial_ GUARDED_BY(mutex_) = 0;  // of the request that is served
  bool cancelling_ GUARDED_BY(mutex_) = false;
  bool active_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::stop_source stop_ GUARDED_BY(mutex_);  // of the request that is served
  std::shared_ptr<Subject> subject_ GUARDED_BY(mutex_);
  std::atomic<bool> has_python_turn_ = false;

  std::map<std::string, LiveSandbox> snapshots_;
  std::uint64_t last_snapshot_ = 0;
  std::deque<HistoryEntry> history_;
  std::uint64_t last_command_ = 0;
  std::size_t history_bytes_ = 0;
  Json commands_;
};

}  // namespace cloche::rpc
