// SPDX-License-Identifier: Apache-2.0
// KeptPython: the interpreter that a sandbox keeps from call to call, and passes on to its forks.
#pragma once

#include <functional>
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

  // Waits for the call that runs, and lets none begin while `fork` makes a fork of the sandbox,
  // whose KeptPython it gives. That one goes on from this interpreter, where there is one and it
  // can be forked; otherwise (no memory) its next call starts a fresh one.
  void pass_on(const std::function<KeptPython&()>& fork);

 private:
  void go_on_from(python::PythonSession& other);
  python::SessionOptions session_options() REQUIRES(mutex_);
  Result<void> start() REQUIRES(mutex_);
  python::TurnResult execute(std::string_view source, const PythonOptions& options)
      REQUIRES(mutex_);
  void drop() REQUIRES(mutex_);

  SandboxState& state_;
  Mutex mutex_;  // one call at a time
  std::unique_ptr<kernel::HostCapture> out_ GUARDED_BY(mutex_);
  std::unique_ptr<kernel::HostCapture> err_ GUARDED_BY(mutex_);
  std::unique_ptr<python::PythonSession> session_ GUARDED_BY(mutex_);
};

}  // namespace cloche::sandbox
