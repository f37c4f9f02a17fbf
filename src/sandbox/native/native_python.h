// SPDX-License-Identifier: Apache-2.0
// NativePython: the interpreter that a native sandbox keeps from call to call. It goes on in a
// fork: frozen here, thawed there. Where that cannot be it begins anew, and the first call says so,
// and why.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "cloche/sandbox.h"
#include "sandbox/native/native_interpreter.h"

namespace cloche::sandbox {

class NativePython {
 public:
  explicit NativePython(NativeBackend& sandbox) : sandbox_(sandbox) {}
  NativePython(const NativePython&) = delete;
  NativePython& operator=(const NativePython&) = delete;

  // Calls queue.
  RunResult run(std::string_view source, const PythonOptions& options);

  // Waits for the call in progress. The interpreter goes on here, too.
  NativeInterpreter::Frozen freeze();
  // Once, before the first call.
  void go_on_as(NativeInterpreter::Frozen frozen);

 private:
  bool is_alive() REQUIRES(mutex_);

  NativeBackend& sandbox_;
  Mutex mutex_;  // one call at a time
  std::unique_ptr<NativeInterpreter> live_ GUARDED_BY(mutex_);
  std::string begins_anew_ GUARDED_BY(mutex_);  // why, where what a parent had is not here
};

}  // namespace cloche::sandbox
