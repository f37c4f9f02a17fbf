// SPDX-License-Identifier: Apache-2.0
// NativeShell: the kept shell of a native sandbox. It is one bash that stays (LiveShell), and after
// each run writes an image of itself, which a shell that was ended is restored from, and which
// forks go on from. Where the image's bash cannot stay it is a TextShell.
//
// A bash that answers is asked for its image at once, and nobody waits for that: it is there before
// the next run begins.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/mutex.h"
#include "cloche/run.h"
#include "sandbox/native/live_shell.h"
#include "sandbox/native/shell_image.h"
#include "sandbox/native/text_shell.h"

namespace cloche::sandbox {

class NativeBackend;

class NativeShell {
 public:
  explicit NativeShell(NativeBackend& sandbox) : sandbox_(sandbox), text_(sandbox) {}
  NativeShell(const NativeShell&) = delete;
  NativeShell& operator=(const NativeShell&) = delete;

  // Runs queue.
  RunResult run(const RunOptions& options);
  // The next run has no state. Waits for the one in progress.
  void restart();
  // The variable has this value in the next run, whatever the shell had.
  void set_variable(const std::string& name, const std::string& value);
  // What the last run has left is safe, unless the sandbox is paused. Waits for no run.
  void settle();

  // A shell on its way into a fork.
  struct Passed {
    std::shared_ptr<ShellImage> image;           // null: there is none
    std::map<std::string, std::string> applied;  // with the image
    std::string reason;                          // why it is not as it was
    bool is_text = false;
    TextShell::Passed text;
  };
  // Waits for the run in progress. The shell goes on here, too.
  Passed pass_on();
  // Once, before the first run.
  void go_on_as(Passed passed);

 private:
  using Variables = std::map<std::string, std::string>;

  bool is_cancelled(const RunOptions& options, std::uint64_t cancellations) const;
  enum class Shell : std::uint8_t { live, text, ended_at_once };
  Shell ensure() REQUIRES(mutex_);
  // What a shell that is to be made goes on from; null: nothing.
  std::shared_ptr<ShellImage> image_to_go_on_from() REQUIRES(mutex_) EXCLUDES(save_mutex_);
  void begin_save() REQUIRES(mutex_) EXCLUDES(save_mutex_);
  void end_save() EXCLUDES(save_mutex_);
  std::string frame_of(const RunOptions& options, const Variables& current) REQUIRES(mutex_);
  void drop_forgotten() REQUIRES(mutex_);
  RunResult run_live(const RunOptions& options, std::uint64_t cancellations) REQUIRES(mutex_);

  NativeBackend& sandbox_;
  TextShell text_;
  Mutex mutex_;  // one run at a time
  bool is_text_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<LiveShell> live_ GUARDED_BY(mutex_);
  Variables applied_ GUARDED_BY(mutex_);    // of the sandbox's environment, in the live shell
  std::string trouble_ GUARDED_BY(mutex_);  // for the next result

  // While something is being saved nothing else is asked of the live shell, which stays.
  Mutex save_mutex_;
  LiveShell* saver_ GUARDED_BY(save_mutex_) = nullptr;  // null: nothing is being saved
  std::shared_ptr<ShellImage> saving_ GUARDED_BY(save_mutex_);
  Variables saving_applied_ GUARDED_BY(save_mutex_);
  std::shared_ptr<ShellImage> other_ GUARDED_BY(save_mutex_);  // to be written next
  // The last whole one; null: as it starts.
  std::shared_ptr<ShellImage> image_ GUARDED_BY(save_mutex_);
  Variables image_applied_ GUARDED_BY(save_mutex_);
  std::string image_is_old_
      GUARDED_BY(save_mutex_);  // why; empty: it is what the last run has left

  Mutex set_mutex_;
  std::set<std::string> forgotten_ GUARDED_BY(set_mutex_);  // of what is applied
};

}  // namespace cloche::sandbox
