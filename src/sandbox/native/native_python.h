// SPDX-License-Identifier: Apache-2.0
// NativePython: the interpreter that a native sandbox keeps from call to call: the system image's
// python3 with a small script (native_python_driver.h). It goes on in a fork: frozen here, thawed
// there. Where that cannot be it begins anew, and the first call says so, and why.
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

  // An interpreter on its way into a fork.
  struct Frozen {
    UniqueFd image;      // none: there is no interpreter, or it begins anew
    std::string reason;  // why it begins anew
  };
  // Waits for the call in progress. The interpreter goes on here, too.
  Frozen freeze();
  // Once, before the first call.
  void go_on_as(Frozen frozen);

 private:
  struct Live;
  class Call;
  Result<void> start(UniqueFd image) REQUIRES(mutex_);
  bool is_alive() REQUIRES(mutex_);
  void forget_ended() REQUIRES(mutex_);

  NativeBackend& sandbox_;
  Mutex mutex_;  // one call at a time
  std::shared_ptr<Live> live_ GUARDED_BY(mutex_);
  std::string begins_anew_ GUARDED_BY(mutex_);  // why, where what a parent had is not here
};

}  // namespace cloche::sandbox
