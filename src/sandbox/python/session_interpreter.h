// SPDX-License-Identifier: Apache-2.0
// SessionInterpreter: the interpreter of a PythonSession, which each engine has in its own way. It
// comes and goes while the session stays.
//
// Threads: stop(), acknowledge_stop(), repeat_stop() and reply() from any thread, the rest from one
// at a time.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cloche/python_session.h"
#include "kernel/time/timer_thread.h"
#include "python/frames.h"
#include "python/python_session.h"
#include "python/session_output.h"
#include "sandbox/clean_output.h"

namespace cloche::sandbox {

class Backend;

inline Error session_failed(std::string_view what, Errno code) {
  return {ErrorKind::sandbox, code, fmt::format("{}: {}", what, errno_info(code).message)};
}

class SessionInterpreter {
 public:
  // Gets each frame that the interpreter says (python/frames.h); it must not throw. False: the
  // frame is none.
  using Listener = std::function<bool(std::string_view frame)>;

  virtual ~SessionInterpreter() = default;

  // Before the first start.
  virtual void listen(Listener listener) = 0;

  virtual bool is_there() const = 0;
  // So that there is one that can be asked something.
  enum class Began : std::uint8_t { before, now };
  virtual Result<Began, Error> start() = 0;
  virtual void drop() = 0;
  // Why an interpreter has begun anew whose names should be there; empty: it has not. Once.
  virtual std::string take_reason() { return {}; }

  // What is written during the turns that follow.
  virtual void begin_output(Stream stream, python::SessionOutput::Plan plan) = 0;
  virtual python::SessionOutput::Written take_output(Stream stream) = 0;
  virtual CleanOutput clean_output() const { return {}; }

  virtual python::TurnResult take(python::Turn what, std::string_view payload,
                                  const python::TurnLimits& limits) = 0;
  // See python::PythonSession.
  virtual void stop(python::StopReason reason) = 0;
  virtual void acknowledge_stop() = 0;
  virtual void repeat_stop() = 0;
  // The answer to a call of the interpreter's, while there is one.
  virtual void reply(std::uint32_t number, python::HostReply kind, std::string_view payload) = 0;

  // Before the sandbox is forked: what the interpreter has written until then is in the fork.
  virtual void begin_fork() {}
  // One that goes on from here in that fork; or, where that cannot be, begins anew there.
  virtual Result<std::unique_ptr<SessionInterpreter>> fork(Backend& twin) = 0;

  // See PythonSession::checkpoint and restore. Both throw Error; where the interpreter has gone
  // for it, is_there() says so.
  // An interpreter that does not come to rest within the limits is dropped.
  virtual void save_image(const std::filesystem::path& file, CheckpointFile kind,
                          const CheckpointLimits& limits) = 0;
  virtual void load_image(const std::filesystem::path& file) = 0;

  virtual kernel::TimerThread& timers() noexcept = 0;
};

}  // namespace cloche::sandbox
