// SPDX-License-Identifier: Apache-2.0
// NativePython: the interpreter that a native sandbox keeps from call to call: the system image's
// python3 with a small script that reads sources from descriptor 3 and answers on 4.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/unique_fd.h"
#include "cloche/sandbox.h"
#include "native/host/box.h"

namespace cloche::sandbox {

class NativeBackend;

class NativePython {
 public:
  explicit NativePython(NativeBackend& sandbox) : sandbox_(sandbox) {}
  NativePython(const NativePython&) = delete;
  NativePython& operator=(const NativePython&) = delete;

  // Calls queue.
  RunResult run(std::string_view source, const PythonOptions& options);
  // A fork has no live interpreter: its first call says so, where the other has one.
  void go_on_from(NativePython& other);

 private:
  struct Live;
  class Call;
  Result<void> start() REQUIRES(mutex_);

  NativeBackend& sandbox_;
  Mutex mutex_;  // one call at a time
  std::shared_ptr<Live> live_ GUARDED_BY(mutex_);
  bool begins_anew_ GUARDED_BY(mutex_) = false;  // what a parent had is not here
};

}  // namespace cloche::sandbox
