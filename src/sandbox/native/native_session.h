// SPDX-License-Identifier: Apache-2.0
// NativeSession: the interpreter of a PythonSession in a box. It speaks as the other engine's does,
// by the same modules (native_interpreter.h), and goes on in forks as the kept Python does.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "sandbox/native/native_interpreter.h"
#include "sandbox/native/native_turn.h"
#include "sandbox/python/session_interpreter.h"

namespace cloche::sandbox {

class NativeSession final : public SessionInterpreter {
 public:
  explicit NativeSession(NativeBackend& sandbox);
  NativeSession(const NativeSession&) = delete;
  NativeSession& operator=(const NativeSession&) = delete;

  // Has an interpreter become one, whose session nobody has. False: it is none.
  static bool open(native::Box& box, NativeInterpreter& interpreter);
  // Has it import what these packages are for. False: it has ended.
  static bool preload(native::Box& box, NativeInterpreter& interpreter,
                      const std::vector<std::string>& packages);

  void listen(Listener listener) override { listener_ = std::move(listener); }
  bool is_there() const override { return live_ != nullptr; }
  Result<Began, Error> start() override;
  void drop() override;
  std::string take_reason() override { return std::exchange(reason_, {}); }
  void begin_output(Stream stream, python::SessionOutput::Plan plan) override;
  python::SessionOutput::Written take_output(Stream stream) override;
  CleanOutput clean_output() const override;
  python::TurnResult take(python::Turn what, std::string_view payload,
                          const python::TurnLimits& limits) override;
  void stop(python::StopReason reason) override EXCLUDES(turn_mutex_);
  void acknowledge_stop() override EXCLUDES(turn_mutex_);
  void repeat_stop() override EXCLUDES(turn_mutex_);
  void reply(std::uint32_t number, python::HostReply kind, std::string_view payload) override;
  void begin_fork() override;
  Result<std::unique_ptr<SessionInterpreter>> fork(Backend& twin) override;
  void save_image(const std::filesystem::path& file, CheckpointFile kind,
                  const CheckpointLimits& limits) override;
  void load_image(const std::filesystem::path& file) override;
  kernel::TimerThread& timers() noexcept override;

 private:
  // For an interpreter to begin, and to import what a session is.
  static constexpr std::chrono::milliseconds open_patience{60'000};

  struct Output {
    python::SessionOutput::Plan plan;
    python::SessionOutput::Written written;
    std::uint64_t bytes = 0;
  };
  class Current;

  // True: the answer is 0, in time.
  static bool asked(native::Box& box, NativeInterpreter& interpreter, std::string request);
  NativeTurn::Plan plan_of(std::string request);
  NativeTurn::End perform(NativeTurn::Plan plan);
  void write(Stream stream, std::string_view bytes);
  // So that it has the modules of a session, and hears when it is to stop.
  Result<void, Error> open();
  // One that can be asked something, or none.
  void forget_ended();
  void go_on_as(NativeInterpreter::Frozen frozen);

  NativeBackend& sandbox_;
  Listener listener_;
  std::unique_ptr<NativeInterpreter> live_;
  std::string reason_;
  std::string begins_anew_;           // why, where what a parent had is not here
  NativeInterpreter::Frozen frozen_;  // between begin_fork() and fork()
  Output out_, err_;
  NativeTurn::Mailbox mail_;

  Mutex turn_mutex_;
  NativeTurn* turn_ GUARDED_BY(turn_mutex_) = nullptr;  // the one in progress
};

}  // namespace cloche::sandbox
