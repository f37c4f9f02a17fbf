// SPDX-License-Identifier: Apache-2.0
// PythonSession: a live Python interpreter in a sandbox, that the host drives and that can call the
// host back.
//
//   cloche::PythonSession session(engine, {.packages = {"numpy"}});
//   auto r = session.execute("import numpy as np\nx = np.arange(4)\nx.sum()");   // r.result_repr
//   auto twin = session.fork();   // has numpy and x
//
// Names stay from one execution to the next; `await` works at the top level; functions of the host
// are called with `await name(a=1)`. The guide is docs/python-session.md.
//
// Threads: one execution at a time: a second one at the same time, from another thread or from a
// callback of the first, gets ExecuteStatus::busy. cancel() may be called from any thread.
// Callbacks run on threads of the session. Lifetime: it must not outlive its Engine and Sandbox;
// handlers of callbacks must be able to run until the session is gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/callback.h"
#include "cloche/engine.h"
#include "cloche/result.h"
#include "cloche/sandbox.h"

namespace cloche {

namespace sandbox {
class PythonSessionState;
}

// One event of a traced execution.
struct TraceEvent {
  int line = 0;         // in the text of that file
  std::string event;    // JSON: {"type": "line" | "call" | "return" | "exception" | ..., ...}
  std::string context;  // JSON: arguments, the value returned ...; empty: none
};

struct TraceOptions {
  // Called for each event, in order, on a thread of the session. Setting it turns tracing on.
  std::function<void(const TraceEvent& event)> sink = {};
  // Globs of file names; empty: the code of the session alone, which is named <session-N>.
  std::vector<std::string> files = {};
  std::uint32_t max_events_per_second = 100'000;  // more are dropped, and counted
  enum class Context : std::uint8_t { none, values } context = Context::values;
};

struct ExecuteLimits {
  // Wall clock; 0: none. Absent: the sandbox's timeout.
  std::optional<std::chrono::milliseconds> timeout = {};
  std::chrono::milliseconds cpu_time{0};  // of the interpreter; 0: none
  // Lines of Python code that are executed: the same code always uses as many. 0: none.
  std::uint64_t steps = 0;
  std::uint64_t memory_bytes = 0;  // of the interpreter; 0: the sandbox's limit
  std::uint64_t callbacks = 10'000;
  std::uint64_t output_bytes = 64ULL << 20;  // of stdout and stderr, each
};

enum class OutputLimitAction : std::uint8_t { drop, stop };

struct ExecuteOptions {
  ExecuteLimits limits = {};
  OutputLimitAction on_output_limit = OutputLimitAction::drop;
  // Gets output as it is written; nothing is kept in the result then. See OutputCallback.
  OutputCallback output = {};
  TraceOptions trace = {};
};

enum class CheckpointFile : std::uint8_t {
  // Opens on every machine that has this build.
  whole,
  // What differs from the started interpreter that this build makes on each machine: small, and
  // fast, for what is opened again soon. Where it does not fit what a machine has made, as after
  // its cache was emptied, opening it is an error that says so.
  over_started,
};

struct CheckpointLimits {
  std::uint64_t bytes = 0;            // of what is written; 0: none. Beyond it nothing is: EFBIG
  std::chrono::milliseconds time{0};  // for the interpreter to come to rest; 0: none
};

enum class ExecuteStatus : std::uint8_t {
  ok,
  error,      // the code raised: error
  exited,     // sys.exit: exit_code
  limit,      // stopped at a limit: limit says which, error what the code got
  cancelled,  // cancel()
  ended,      // the interpreter is gone: reason
  busy,       // another execution is in progress; nothing was done
};

enum class Limit : std::uint8_t { none, time, cpu_time, steps, memory, callbacks, output };

struct ExecutionError {
  std::string type;  // the name of the exception's class
  std::string message;
  std::string traceback;    // as Python prints it
  std::optional<int> line;  // in the code that was given
};

struct ExecuteResult {
  ExecuteStatus status = ExecuteStatus::ok;
  std::string stdout_data;  // all that was written, also where the execution failed
  std::string stderr_data;
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  // Of the last statement, where that is an expression with a value other than None.
  std::optional<std::string> result_repr;
  std::optional<std::string> result_json;  // where JSON has such a value
  std::optional<ExecutionError> error;
  int exit_code = 0;  // of exited; of ended: as a shell says it, 128 + signal for a signal
  Limit limit = Limit::none;
  std::string reason;         // one sentence for anything but ok, error and exited
  bool session_alive = true;  // names are still there; if not, the next execution starts afresh
  std::uint64_t callback_count = 0;
  std::uint64_t trace_events_dropped = 0;
  // Counted where ExecuteLimits::steps is set: counting makes code slower.
  std::optional<std::uint64_t> steps;
  // Of the interpreter, with its libraries, since it started; absent where it was ended for a limit
  // that it did not obey. In a linux sandbox what the kernel has had of it in memory at once, files
  // that it maps included; one that has ended had that, or the largest child that it waited for.
  std::optional<std::uint64_t> peak_memory_bytes;
  std::chrono::nanoseconds duration{0};
};

// What of the state is left out.
struct LeftOut {
  std::string name;
  std::string reason;
};

struct SnapshotOptions {
  enum class OnUnpicklable : std::uint8_t { fail, leave_out } on_unpicklable = OnUnpicklable::fail;
  std::uint64_t max_bytes = 64ULL << 20;
};

struct PythonState {
  std::string bytes;
  std::vector<LeftOut> left_out;
};

struct PythonSessionOptions {
  std::vector<Callback> callbacks = {};
  unsigned callback_threads = 64;  // at most; for handlers that are not asynchronous
  // A file that PythonSession::checkpoint wrote, which the interpreter starts from, at first and
  // whenever it starts afresh: imports and set-up done once. The sandbox needs the packages that it
  // had there.
  std::filesystem::path image = {};
};

class PythonSession {
 public:
  // With a sandbox of its own. Throws as Engine::create does.
  PythonSession(Engine& engine, const SandboxOptions& sandbox, PythonSessionOptions options = {});
  // In a sandbox that others use as well: it sees its files, and counts for its limits.
  explicit PythonSession(Sandbox& sandbox, PythonSessionOptions options = {});
  ~PythonSession();
  PythonSession(const PythonSession&) = delete;
  PythonSession& operator=(const PythonSession&) = delete;

  // Runs code and waits for its end. Never throws for what the code does. The interpreter starts at
  // the first call.
  ExecuteResult execute(std::string_view code, const ExecuteOptions& options = {});
  // Stops the execution in progress: the code gets a cloche.ExecutionCancelled, and the session
  // goes on; where the interpreter does not listen (a long operation of an extension module) it is
  // ended, and the result says so.
  void cancel();

  // Throws Error with one sentence for a bad name, a schema that is none, or a
  // callback with no handler or two. A name that is there is replaced.
  void add_callback(Callback callback);
  bool remove_callback(std::string_view name);

  // A second session that goes on from here, in a fork of the sandbox. Throws Error: EBUSY when an
  // execution is in progress, ENOMEM when there is no memory for it.
  std::unique_ptr<PythonSession> fork();

  // The user's names, as bytes of a versioned format that another session can take, also one of
  // another process. Names of modules are kept as imports.
  // EFBIG beyond the limit, EINVAL for a name that cannot be pickled, EBUSY during an execution.
  Result<PythonState, Error> snapshot_state(const SnapshotOptions& options = {});
  // Sets the names of a snapshot; others stay. EINVAL for bytes that are no snapshot: then nothing
  // has changed. The bytes hold pickled objects: restoring runs code of theirs, in the sandbox.
  Result<void, Error> restore_state(std::string_view bytes);
  // Forgets all names.
  Result<void, Error> clear_state();

  // The whole interpreter, with its libraries, as a file that sessions of this build can start
  // from. Throws Error.
  void checkpoint(const std::filesystem::path& file, CheckpointFile kind = CheckpointFile::whole,
                  const CheckpointLimits& limits = {});
  // Goes on from a checkpoint, in the folder that it was in where the sandbox has that; what the
  // session was is gone. Files of the sandbox are not part of it. Throws Error when the file is
  // none, is damaged, or is of another build: then nothing has changed; and when the interpreter
  // cannot begin here, for want of memory for example, or takes longer than the sandbox's time
  // limit for that: then the session begins anew.
  void restore(const std::filesystem::path& file);
  // Another number after everything that may have changed its names; a fork has that of its origin,
  // until something is executed in it. 0: it is as it starts.
  std::uint64_t version() const noexcept;

  Sandbox& sandbox() noexcept;

 private:
  explicit PythonSession(std::unique_ptr<sandbox::PythonSessionState> state);
  std::unique_ptr<sandbox::PythonSessionState> state_;
};

}  // namespace cloche
