// SPDX-License-Identifier: Apache-2.0
// KeptShell: the shell that a sandbox keeps from run to run, restores when it dies, and passes on
// to its forks. See ShellState::kept.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "cloche/run.h"
#include "sandbox/shell_process.h"
#include "sandbox/shell_text.h"

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

  // Waits for the run that is in progress, and lets none begin while `fork` makes a fork of the
  // sandbox, whose KeptShell it gives: that one has this shell as it is, where there is one.
  void pass_on(const std::function<KeptShell&()>& fork);

  // What it is, written by a copy of it, which may take `time`; waits as long for the run that is
  // in progress. ETIMEDOUT: one of the two took longer. Nothing: it is as it starts. Asked again
  // before the next run it costs nothing. With no time nothing is written, and nobody waited for:
  // then it may also be nothing for one that runs, or has changed.
  Result<std::optional<ShellText>> text(std::chrono::milliseconds time);
  // The next run has a shell that is that; where it cannot be made that, a new one, and the run's
  // result says so.
  void go_on_from(ShellText text);

 private:
  // First come, first served.
  class TurnHolder;
  std::optional<ShellText> known_text();
  Result<std::string> write_text(const std::shared_ptr<const RestingShell>& shell,
                                 std::chrono::milliseconds time);

  struct Environment {
    std::map<std::string, std::string> to_set;
    std::map<std::string, std::string> current;
  };
  Environment environment();
  void drop_forgotten();
  Result<void> check_start(const RunOptions& options) const;
  Result<void> ensure_process(const std::stop_token& stop);
  bool read_text();
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
  std::optional<ShellText> text_;                // to begin with, when there is neither
  std::optional<ShellText> written_;             // of written_version_
  std::uint64_t written_version_ = 0;
  std::string trouble_;  // for the next result

  Mutex forgotten_mutex_;
  std::set<std::string> forgotten_ GUARDED_BY(forgotten_mutex_);  // of what is applied
};

}  // namespace cloche::sandbox
