// SPDX-License-Identifier: Apache-2.0
// PythonSession: a python3 process that stays: code runs in one __main__, call after call, and the
// live interpreter can be forked.
//
//   auto session = PythonSession::start(runtime, kernel, {.files = {{1, capture}, {2, capture}}});
//   (*session)->execute("import numpy as np; x = 1", time_limit);
//   auto twin = (*session)->fork(other_kernel, {...});   // has numpy and x
//
// It is an ordinary process of its kernel: signals, limits and kill_job act on it. Between turns it
// has no thread, and before the first one it has not begun (see begin()). Threads: one call at a
// time; stop(), acknowledge_stop() and repeat_stop() from any thread. It must be gone before its
// kernel.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/time/kernel_handle.h"
#include "kernel/time/kernel_lock.h"
#include "python/python_runtime.h"
#include "python/start_block.h"

namespace cloche::wasm {
class RunHere;
}

namespace cloche::python {

// How one turn ended.
enum class TurnStatus : std::uint8_t {
  finished,
  raised,   // an exception, reported on stderr; the session goes on
  exited,   // sys.exit: exit_code; the session goes on
  ended,    // the process is gone: killed, out of memory, os._exit
  overdue,  // the deadline passed, and the process was killed for it
};

// Why the host stops a turn. The interpreter is told by the signal of that number and raises an
// exception (userland/python/lib/_cloche/sessions/interrupts.py); one that does not is killed.
enum class StopReason : std::uint8_t { none = 0, cancelled = 60, time = 61, cpu = 62, output = 63 };

struct TurnResult {
  TurnStatus status = TurnStatus::finished;
  int exit_code = 0;                      // of exited; of ended: as a shell says it
  StopReason stopped = StopReason::none;  // what was asked of it, whether it obeyed or was killed
  std::string reason;                     // one sentence, for `ended` and `overdue`
  std::uint64_t memory_bytes = 0;  // that the interpreter has had at most; 0 of an overdue one
};

// What a TurnResult says in either engine: of one that did not obey; and after "the session has
// ended", how its process has.
inline constexpr std::string_view reason_not_stopped =
    "the code did not stop when it was told to, so the session was ended";
std::string reason_of_exit(int status);
std::string reason_of_signal(int number);

struct TurnLimits {
  std::chrono::milliseconds time{0};     // from when the turn is asked for; 0: none
  std::chrono::nanoseconds cpu{0};       // of the interpreter's thread; 0: none
  std::uint64_t memory_limit_bytes = 0;  // linear memory of the interpreter; 0: the kernel's limit
};

struct SessionOptions {
  std::vector<std::string> environment;
  std::string cwd = "/";
  std::map<std::int32_t, kernel::FilePtr> files;  // descriptors 0, 1 and 2
};

// Whether a process of `kernel` could begin in that folder, which is absolute.
bool has_folder(kernel::Kernel& kernel, const std::string& path) EXCLUDES(kernel::kernel_lock);

class PythonSession {
 public:
  // Errors are those of Kernel::spawn, which takes the files. Waits for the interpreter's compiler
  // as kernel::load_for_host does.
  static Result<std::unique_ptr<PythonSession>> start(PythonRuntime& runtime,
                                                      kernel::Kernel& kernel,
                                                      SessionOptions options);
  // Kills the process and waits for its end.
  ~PythonSession();
  PythonSession(const PythonSession&) = delete;
  PythonSession& operator=(const PythonSession&) = delete;

  // Starts the interpreter in the background, so that the first turn need not.
  void begin() EXCLUDES(kernel::kernel_lock);
  // Runs source text, on this thread, and waits for it. A turn that is over its time (0: no limit)
  // is killed, with the session.
  TurnResult execute(std::string_view source, std::chrono::milliseconds time = {})
      EXCLUDES(kernel::kernel_lock);
  // Any other turn: on this thread too, or on one of its own where a limit of CPU time wants this
  // one to wait. One that is over its limits is stopped, and the session goes on where it can.
  TurnResult take(Turn what, std::string_view payload, const TurnLimits& limits)
      EXCLUDES(kernel::kernel_lock);
  // Stops the turn in progress; without one it does nothing. From any thread.
  void stop(StopReason reason) EXCLUDES(kernel::kernel_lock);
  // The interpreter has heard stop() and is on its way out: it gets some time for that.
  void acknowledge_stop() EXCLUDES(kernel::kernel_lock);
  // The interpreter listens now, and did not when it was told: it is told again.
  void repeat_stop() EXCLUDES(kernel::kernel_lock);

  // The interpreter as it is now. Costs what was written since the last memory image.
  Result<std::shared_ptr<const wasm::MemoryImage>> capture() EXCLUDES(kernel::kernel_lock);
  // A session in `kernel` (this one or another) that goes on from here: memory is shared until
  // written. Descriptors beyond those of `options` are not open in it. It works in the folder that
  // this one is in, or where `kernel` has no such folder in that of `options`.
  Result<std::unique_ptr<PythonSession>> fork(kernel::Kernel& kernel, SessionOptions options);
  // The same from a memory image that was captured before; `first` is Turn::resume, or Turn::join
  // for one of another sandbox. Sessions from one memory image may share `hot_pages`, which makes
  // the later ones start faster; null: those of a fresh session.
  static Result<std::unique_ptr<PythonSession>> start_from(
      PythonRuntime& runtime, kernel::Kernel& kernel, SessionOptions options,
      std::shared_ptr<const wasm::MemoryImage> image, Turn first,
      std::shared_ptr<wasm::HotPages> hot_pages);

  // Nothing for a folder that is no longer there, and for a process that has ended.
  std::optional<std::string> working_folder() EXCLUDES(kernel::kernel_lock);

  const kernel::ProcessPtr& process() const noexcept { return process_.get(); }

 private:
  struct Shared;
  class Watch;
  PythonSession(PythonRuntime& runtime, kernel::Kernel& kernel, std::shared_ptr<Shared> shared,
                kernel::ProcessPtr process);
  static Result<std::unique_ptr<PythonSession>> spawn(PythonRuntime& runtime,
                                                      kernel::Kernel& kernel,
                                                      SessionOptions options,
                                                      std::shared_ptr<Shared> shared);
  // Takes the turn on this thread. False when it did not stop when it was told to: the process was
  // killed. Lock held.
  bool take_here(wasm::RunHere& here, const std::shared_ptr<Watch>& watch)
      REQUIRES(kernel::kernel_lock);
  // Waits for the turn. False when it does not stop when it is told to: the process must be killed.
  // Lock held.
  bool wait_within(const TurnLimits& limits) REQUIRES(kernel::kernel_lock);
  // One look at a turn: stops it where limits say so. False as wait_within(). Lock held.
  bool keep_within(const TurnLimits& limits, std::chrono::nanoseconds cpu_at_start)
      REQUIRES(kernel::kernel_lock);
  // The rest: lock held.
  bool is_gone() const REQUIRES(kernel::kernel_lock);
  // Gone, and not as another program that still runs.
  bool has_ended() const REQUIRES(kernel::kernel_lock);
  void ask(Turn what, std::string_view payload, const TurnLimits& limits)
      REQUIRES(kernel::kernel_lock);
  void wait_for_end() REQUIRES(kernel::kernel_lock);
  TurnResult turn_result() REQUIRES(kernel::kernel_lock);
  TurnResult no_thread() REQUIRES(kernel::kernel_lock);
  void begin_stop(StopReason reason) REQUIRES(kernel::kernel_lock);
  // The signal that it is stopped with.
  void tell_stop() REQUIRES(kernel::kernel_lock);
  bool does_not_stop(kernel::SteadyTime now) const REQUIRES(kernel::kernel_lock);
  // When to look at the turn again, if nobody says anything before.
  struct NextLook {
    kernel::Deadline at;
    bool when_it_computes = false;  // it sleeps, and its CPU time counts
  };
  NextLook next_look(const TurnLimits& limits, std::chrono::nanoseconds cpu_at_start) const
      REQUIRES(kernel::kernel_lock);
  // The same for its CPU clock to show `cpu`, which it cannot sooner.
  NextLook look_at_cpu(std::chrono::nanoseconds cpu) const REQUIRES(kernel::kernel_lock);
  std::chrono::nanoseconds cpu_time() const REQUIRES(kernel::kernel_lock);

  PythonRuntime& runtime_;
  kernel::Kernel& kernel_;
  std::shared_ptr<Shared> shared_;
  kernel::KernelHandle<kernel::ProcessPtr> process_;
};

}  // namespace cloche::python
