// SPDX-License-Identifier: Apache-2.0
// What a PythonSession consists of: an interpreter in a sandbox, the port to it, its output, the
// callbacks.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "cloche/python_session.h"
#include "kernel/time/kernel_handle.h"
#include "kernel/time/kernel_lock.h"
#include "python/callback_host.h"
#include "python/python_session.h"
#include "python/session_output.h"
#include "python/session_port.h"
#include "sandbox/sandbox_state.h"

namespace cloche::sandbox {

class PythonSessionState {
 public:
  // `own` may be null: then `sandbox` is somebody else's.
  PythonSessionState(std::unique_ptr<Sandbox> own, Sandbox& sandbox, SandboxState& state,
                     const PythonSessionOptions& options);
  ~PythonSessionState();
  PythonSessionState(const PythonSessionState&) = delete;
  PythonSessionState& operator=(const PythonSessionState&) = delete;

  ExecuteResult execute(std::string_view code, const ExecuteOptions& options);
  void cancel() EXCLUDES(interpreter_mutex_);
  std::unique_ptr<PythonSessionState> fork(std::unique_ptr<Sandbox> twin, SandboxState& twin_state);

  Result<PythonState, Error> snapshot(const SnapshotOptions& options);
  Result<void, Error> restore(std::string_view bytes);
  Result<void, Error> clear();
  // Both throw Error.
  void save_image(const std::filesystem::path& file, CheckpointFile kind,
                  const CheckpointLimits& limits);
  void load_image(const std::filesystem::path& file);
  std::uint64_t version() const noexcept { return version_; }

  python::CallbackHost& callbacks() noexcept { return callbacks_; }
  Sandbox& sandbox() noexcept { return sandbox_; }

 private:
  // What the port gets while a turn runs.
  struct Mail {
    std::string record;  // 'R'
    std::string bytes;   // 'B'
    std::uint64_t max_bytes = 0;
    bool too_many = false;
    std::function<void(const TraceEvent&)> trace;
  };
  class Use;

  bool listen(std::string_view frame);
  void pass_on_trace(std::string_view records);
  python::SessionOptions session_options() EXCLUDES(kernel::kernel_lock);
  // So that there is an interpreter.
  Result<void, Error> start();
  // Null: from the boot image. In that folder where there is one, otherwise at home.
  Result<void, Error> start_from(std::shared_ptr<python::OwnImage> image,
                                 const std::string& folder = {});
  python::PythonRuntime& runtime() const;
  void connect();
  void drop() EXCLUDES(kernel::kernel_lock);
  void has_changed() noexcept;
  std::string head_of(const ExecuteOptions& options);
  void conclude(const python::TurnResult& turn, const ExecuteOptions& options,
                ExecuteResult& result);
  Result<PythonState, Error> state_turn(python::Turn turn, std::string_view payload,
                                        std::uint64_t max_bytes);

  std::unique_ptr<Sandbox> own_sandbox_;
  Sandbox& sandbox_;
  SandboxState& state_;
  const unsigned callback_threads_;
  const std::filesystem::path image_file_;  // to start from; empty: as the sandbox does
  std::atomic<bool> busy_ = false;
  std::atomic<std::uint64_t> version_ = 0;

  Mutex mail_mutex_;
  Mail mail_ GUARDED_BY(mail_mutex_);

  kernel::KernelHandle<std::shared_ptr<python::SessionPort>> port_;
  kernel::KernelHandle<std::shared_ptr<python::SessionOutput>> out_;
  kernel::KernelHandle<std::shared_ptr<python::SessionOutput>> err_;
  std::uint64_t known_callbacks_ = 0;  // version that the interpreter has
  bool output_over_ = false;
  // Held to change the pointer, and to follow it by a thread that has not the call: cancel().
  Mutex interpreter_mutex_;
  std::unique_ptr<python::PythonSession> interpreter_;
  python::CallbackHost callbacks_;
};

}  // namespace cloche::sandbox
