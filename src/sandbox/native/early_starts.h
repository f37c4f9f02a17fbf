// SPDX-License-Identifier: Apache-2.0
// EarlyStarts: a shell and interpreters that have been started in a sandbox before it was anybody's
// (ReadySandboxes), each for its first use. They go where that cannot be theirs any more, since
// they would start otherwise now: with other variables, or with files changed that a start may
// read. What is not used for `rest` from when the sandbox was given away goes too.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <memory>

#include "base/mutex.h"
#include "sandbox/native/first_uses.h"
#include "sandbox/native/live_shell.h"
#include "sandbox/native/native_interpreter.h"

namespace cloche::sandbox {

class EarlyStarts {
 public:
  static constexpr std::chrono::seconds rest{30};

  explicit EarlyStarts(NativeBackend& sandbox) : sandbox_(sandbox) {}
  ~EarlyStarts();
  EarlyStarts(const EarlyStarts&) = delete;
  EarlyStarts& operator=(const EarlyStarts&) = delete;

  // Starts these, and waits until they have. What cannot be is left out.
  void make(const FirstUses& uses);
  // The sandbox is somebody's from now on.
  void give_away();

  // Null: there is none.
  std::unique_ptr<LiveShell> take_shell();
  std::unique_ptr<NativeInterpreter> take_python(PythonStart what);
  void let_go();

 private:
  struct Started {
    std::unique_ptr<LiveShell> shell;
    std::unique_ptr<NativeInterpreter> python, session;
  };
  // What one of them goes on as; the others stay.
  template <typename What>
  std::unique_ptr<What> take(std::unique_ptr<What> Started::* which);

  NativeBackend& sandbox_;
  Mutex mutex_;
  Started started_ GUARDED_BY(mutex_);
};

}  // namespace cloche::sandbox
