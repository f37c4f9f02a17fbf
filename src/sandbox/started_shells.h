// SPDX-License-Identifier: Apache-2.0
// StartedShells: shells of this engine that have started and run nothing, so that the first shell
// of a sandbox begins with one of them: nothing of bash's own start is done again, and what all
// shells have alike is one memory.
//
// Each is made in a sandbox of its own in which nobody else runs, so that nobody's doing is in it.
// It serves a sandbox in which a start would have seen the same. Thread-safe.
#pragma once

#include <list>
#include <memory>

#include "base/mutex.h"
#include "sandbox/shell_process.h"

namespace cloche::sandbox {

class EngineState;
class SandboxState;

class StartedShells {
 public:
  // `engine` outlives it.
  explicit StartedShells(EngineState& engine);
  ~StartedShells();
  StartedShells(const StartedShells&) = delete;
  StartedShells& operator=(const StartedShells&) = delete;

  // Made at the first call for sandboxes like this one; bash is compiled by then. Null: this shell
  // has to start by itself.
  std::shared_ptr<const RestingShell> find(SandboxState& sandbox)
      EXCLUDES(kernel::kernel_lock, mutex_);

 private:
  struct Kind;

  EngineState& engine_;
  Mutex mutex_;
  std::list<Kind> kinds_ GUARDED_BY(mutex_);
};

}  // namespace cloche::sandbox
