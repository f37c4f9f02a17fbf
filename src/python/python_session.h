// PythonSession: a python3 process that stays: code runs in one __main__, call after call, and the
// live interpreter can be forked.
//
//   auto session = PythonSession::start(runtime, kernel, {.files = {{1, capture}, {2, capture}}});
//   (*session)->execute("import numpy as np; x = 1", deadline);
//   auto twin = (*session)->fork(other_kernel, {...});   // has numpy and x
//
// It is an ordinary process of its kernel: signals, limits and kill_job act on it. Its thread
// sleeps between turns. Threads: one call at a time; cancelling is Kernel::kill or kill_job, from
// any thread. It must be gone before its kernel.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"
#include "python/python_runtime.h"

namespace cloche::python {

// How one turn ended.
enum class TurnStatus : std::uint8_t {
  finished,
  raised,   // an exception, reported on stderr; the session goes on
  exited,   // sys.exit: exit_code; the session goes on
  ended,    // the process is gone: killed, out of memory, os._exit
  overdue,  // the deadline passed, and the process was killed for it
};

struct TurnResult {
  TurnStatus status = TurnStatus::finished;
  int exit_code = 0;
  std::string reason;  // one sentence, for `ended` and `overdue`
};

struct SessionOptions {
  std::vector<std::string> environment;
  std::string cwd = "/";
  std::map<std::int32_t, kernel::FilePtr> files;  // descriptors 0, 1 and 2
};

class PythonSession {
 public:
  // Errors are those of Kernel::spawn.
  static Result<std::unique_ptr<PythonSession>> start(PythonRuntime& runtime,
                                                      kernel::Kernel& kernel,
                                                      const SessionOptions& options);
  // Kills the process and waits for its end.
  ~PythonSession();
  PythonSession(const PythonSession&) = delete;
  PythonSession& operator=(const PythonSession&) = delete;

  // Runs source text and waits for it.
  TurnResult execute(std::string_view source, kernel::Deadline deadline = std::nullopt);

  // The interpreter as it is now. Costs what was written since the last image.
  Result<std::shared_ptr<const wasm::MemoryImage>> capture();
  // A session in `kernel` (this one or another) that goes on from here: memory is shared until
  // written. Descriptors beyond those of `options` are not open in it.
  Result<std::unique_ptr<PythonSession>> fork(kernel::Kernel& kernel,
                                              const SessionOptions& options);
  // The same from an image that was captured before. Sessions from one image may share `hot_pages`,
  // which makes the later ones start faster; null: those of a fresh session.
  static Result<std::unique_ptr<PythonSession>> start_from(
      PythonRuntime& runtime, kernel::Kernel& kernel, const SessionOptions& options,
      std::shared_ptr<const wasm::MemoryImage> image, std::shared_ptr<HotPages> hot_pages);

  const kernel::ProcessPtr& process() const noexcept { return process_; }

 private:
  struct Shared;
  PythonSession(PythonRuntime& runtime, kernel::Kernel& kernel, std::shared_ptr<Shared> shared,
                kernel::ProcessPtr process);
  static Result<std::unique_ptr<PythonSession>> spawn(PythonRuntime& runtime,
                                                      kernel::Kernel& kernel,
                                                      const SessionOptions& options,
                                                      std::shared_ptr<Shared> shared);
  // Waits until the process has taken the request and answered, or is gone. Lock held. False at the
  // deadline.
  bool wait_for_answer(kernel::Deadline deadline);

  PythonRuntime& runtime_;
  kernel::Kernel& kernel_;
  std::shared_ptr<Shared> shared_;
  kernel::ProcessPtr process_;
};

}  // namespace cloche::python
