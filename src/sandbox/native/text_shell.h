// SPDX-License-Identifier: Apache-2.0
// TextShell: the kept shell where no bash can stay (native_shell.h): each script has a bash of its
// own, which begins with the state that the one before has left: variables, functions, options,
// aliases, traps and the folder, as a script that bash itself has written. So a shell that is
// killed leaves the state as it was, and a fork has it too.
//
// What such a script cannot say begins anew: the table of jobs, open descriptors, $$ and history.
#pragma once

#include <map>
#include <string>

#include "base/mutex.h"
#include "cloche/run.h"

namespace cloche::sandbox {

class NativeBackend;

class TextShell {
 public:
  explicit TextShell(NativeBackend& sandbox) : sandbox_(sandbox) {}
  TextShell(const TextShell&) = delete;
  TextShell& operator=(const TextShell&) = delete;

  // Runs queue.
  RunResult run(const RunOptions& options);
  // The next run has no state. Waits for the one in progress.
  void restart();
  // The variable has this value in the next run, whatever the shell had.
  void set_variable(const std::string& name, const std::string& value);

  struct Passed {
    std::string state;
    std::map<std::string, std::string> set;
  };
  Passed pass_on();
  void go_on_as(Passed passed);

 private:
  std::string preamble(const RunOptions& options) REQUIRES(mutex_);

  NativeBackend& sandbox_;
  Mutex mutex_;  // one run at a time
  std::string state_ GUARDED_BY(mutex_);
  Mutex set_mutex_;
  std::map<std::string, std::string> set_ GUARDED_BY(set_mutex_);
};

}  // namespace cloche::sandbox
