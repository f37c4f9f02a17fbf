// SPDX-License-Identifier: Apache-2.0
// KeptShell: the shell that a sandbox keeps from run to run, restores when it dies, and passes on
// to its forks. See ShellState::kept.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/mutex.h"
#include "cloche/run.h"
#include "sandbox/shell_process.h"

namespace cloche::sandbox {

class SandboxState;

class KeptShell {
 public:
  // `state` outlives it, and has its kernel by now.
  explicit KeptShell(SandboxState& state) : state_(state) {}
  KeptShell(const KeptShell&) = delete;
  KeptShell& operator=(const KeptShell&) = delete;

  RunResult run(const RunOptions& options);

  // The next run has a new shell; waits for the run that is in progress.
  void restart();

  // A variable of the sandbox's environment was set: the next run sets it in the shell, also where
  // it has the value that the shell was given before. Thread-safe.
  void forget(const std::string& name);

  // Takes the other's shell as it is, where it has one; waits for the run that is in progress in
  // it.
  void go_on_from(KeptShell& other);

 private:
  // First come, first served.
  class TurnHolder;

  struct Environment {
    std::map<std::string, std::string> to_set;
    std::map<std::string, std::string> current;
  };
  Environment environment();
  void drop_forgotten();
  Result<void> check_start(const RunOptions& options) const;
  Result<void> ensure_process();
  RunResult run_now(const RunOptions& options, std::uint64_t cancellations);

  SandboxState& state_;

  Mutex queue_mutex_;
  Condition queue_changed_;
  std::uint64_t last_ticket_ GUARDED_BY(queue_mutex_) = 0;
  std::uint64_t served_ GUARDED_BY(queue_mutex_) = 0;

  // For who has the place.
  std::unique_ptr<ShellProcess> process_;
  std::shared_ptr<const RestingShell> resting_;  // when there is no process
  std::map<std::string, std::string> applied_;   // of the sandbox's environment

  Mutex forgotten_mutex_;
  std::set<std::string> forgotten_ GUARDED_BY(forgotten_mutex_);  // of what is applied
};

}  // namespace cloche::sandbox
