// SPDX-License-Identifier: Apache-2.0
// What a PythonSession consists of: an interpreter in a sandbox, of whichever engine, what is said
// with it, the callbacks.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "cloche/python_session.h"
#include "python/callback_host.h"
#include "sandbox/python/session_interpreter.h"

namespace cloche::sandbox {

class PythonSessionState {
 public:
  // `own` may be null: then `sandbox` is somebody else's.
  PythonSessionState(std::unique_ptr<Sandbox> own, Sandbox& sandbox, Backend& backend,
                     std::unique_ptr<SessionInterpreter> interpreter,
                     const PythonSessionOptions& options);
  ~PythonSessionState();
  PythonSessionState(const PythonSessionState&) = delete;
  PythonSessionState& operator=(const PythonSessionState&) = delete;

  ExecuteResult execute(std::string_view code, const ExecuteOptions& options);
  void cancel();

  struct SandboxFork {
    std::unique_ptr<Sandbox> sandbox;
    Backend& backend;  // its
  };
  using ForkSandbox = std::function<SandboxFork()>;
  // Throws Error, as `fork_sandbox` does.
  std::unique_ptr<PythonSessionState> fork(const ForkSandbox& fork_sandbox);

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
  // So that there is an interpreter.
  Result<void, Error> start();
  void connect();
  void drop();
  void has_changed() noexcept;
  std::string head_of(const ExecuteOptions& options);
  static ExecuteResult not_begun(const Error& why);
  void conclude(const python::TurnResult& turn, const ExecuteOptions& options,
                ExecuteResult& result);
  void give_up(ExecuteResult& result);
  Result<PythonState, Error> state_turn(python::Turn turn, std::string_view payload,
                                        std::uint64_t max_bytes);

  std::unique_ptr<Sandbox> own_sandbox_;
  Sandbox& sandbox_;
  Backend& backend_;
  const unsigned callback_threads_;
  std::atomic<bool> busy_ = false;
  std::atomic<std::uint64_t> version_ = 0;
  bool was_unclear_ = false;  // how the last execution ended; of who has it in use

  Mutex mail_mutex_;
  Mail mail_ GUARDED_BY(mail_mutex_);

  std::uint64_t known_callbacks_ = 0;  // version that the interpreter has
  const std::unique_ptr<SessionInterpreter> interpreter_;
  python::CallbackHost callbacks_;  // goes before the interpreter, which calls it
};

}  // namespace cloche::sandbox
