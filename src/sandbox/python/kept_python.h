// SPDX-License-Identifier: Apache-2.0
// KeptPython: the interpreter that a sandbox keeps from call to call, and passes on to its forks.
#pragma once

#include <memory>
#include <string_view>

#include "base/mutex.h"
#include "cloche/sandbox.h"
#include "kernel/host/host_ports.h"
#include "python/python_session.h"

namespace cloche::sandbox {

class SandboxState;

class KeptPython {
 public:
  // `state` outlives it, and has its kernel by now.
  explicit KeptPython(SandboxState& state) : state_(state) {}
  ~KeptPython();
  KeptPython(const KeptPython&) = delete;
  KeptPython& operator=(const KeptPython&) = delete;

  RunResult run(std::string_view source, const PythonOptions& options);

  // Takes a fork of the other's interpreter, where that has one; waits for the call that runs in
  // it. Where the fork cannot be made (no memory) the next call starts a fresh one.
  void go_on_from(KeptPython& other);

 private:
  python::SessionOptions session_options() REQUIRES(mutex_);
  Result<void> start() REQUIRES(mutex_);
  void drop() REQUIRES(mutex_);

  SandboxState& state_;
  Mutex mutex_;  // one call at a time
  std::unique_ptr<kernel::HostCapture> out_ GUARDED_BY(mutex_);
  std::unique_ptr<kernel::HostCapture> err_ GUARDED_BY(mutex_);
  std::unique_ptr<python::PythonSession> session_ GUARDED_BY(mutex_);
};

}  // namespace cloche::sandbox
