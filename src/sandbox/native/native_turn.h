// SPDX-License-Identifier: Apache-2.0
// NativeTurn: one thing that is asked of an interpreter in a box, from the request to the answer,
// in one loop of the thread that waits for it: what it writes, what it says through its port,
// limits, stops, its end. The time limit holds also while nobody takes what it writes: an
// interpreter that has not answered a while after it is killed then.
//
// Threads: perform() is called once, by one thread; stop(), acknowledge(), repeat() and post() by
// any.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/unique_fd.h"
#include "cloche/run.h"
#include "native/host/box.h"
#include "python/python_session.h"
#include "sandbox/native/alarm.h"
#include "sandbox/native/native_interpreter.h"

namespace cloche::sandbox {

class NativeTurn {
 public:
  using Clock = std::chrono::steady_clock;

  struct Plan {
    std::string request;  // see NativeInterpreter::request
    std::optional<Clock::time_point> deadline;
    std::chrono::nanoseconds cpu{0};  // of the interpreter; 0: no limit
    // At a limit it is told to stop, as an open session is, and killed where it does not hear;
    // otherwise it is killed at once.
    bool is_told = false;
    std::function<void(Stream stream, std::string_view bytes)> output;
    // Have the deadline while `output` or `listen` is called; null: neither takes its time.
    kernel::TimerThread* timers = nullptr;
    // Gets the frames of a session.
    std::function<void(std::string_view frame)> listen;
  };

  struct End {
    std::optional<int> answer;                  // none: the interpreter has ended
    std::optional<warden::Answer> not_started;  // it has never begun
    int wait_status = 0;
    bool memory_exceeded = false;
    std::uint64_t memory_bytes = 0;  // that it has had at most, of one that has ended
    python::StopReason stopped = python::StopReason::none;
    bool is_killed = false;  // at a limit, or because it did not hear
  };

  // Of what the session's interpreter has not been given yet, in any turn.
  struct Mailbox {
    Mutex mutex;
    std::string unsent GUARDED_BY(mutex);
    UniqueFd wake;  // an event, for the turn in progress
  };

  NativeTurn(native::Box& box, NativeInterpreter& interpreter, Mailbox* mail, Plan plan);
  NativeTurn(const NativeTurn&) = delete;
  NativeTurn& operator=(const NativeTurn&) = delete;

  End perform();

  void stop(python::StopReason reason);
  // It has heard.
  void acknowledge();
  // It listens now, and did not when it was told.
  void repeat();

 private:
  bool step(int wait_ms);
  int patience_ms();
  void call(const std::function<void()>& what);
  void set_alarm(Clock::time_point when);
  void be_overdue(Clock::time_point now);
  void look();
  void look_at_cpu(Clock::time_point now);
  bool does_not_stop(Clock::time_point now);
  void tell_stop();
  void kill();
  std::chrono::nanoseconds cpu_time();
  void hear();
  bool read_output(UniqueFd& fd, Stream stream);
  bool read_port();
  void send_mail();
  void read_rest();

  native::Box& box_;
  NativeInterpreter& interpreter_;
  Mailbox* const mail_;  // null: there is no session
  Plan plan_;
  std::string input_;
  End end_;
  bool over_ = false;
  std::optional<Clock::time_point> killed_at_;
  std::chrono::nanoseconds cpu_at_start_{0};
  Clock::time_point cpu_due_;  // when its computing time is looked at again
  std::chrono::nanoseconds cpu_at_stop_{0};
  Clock::time_point stopped_at_;
  bool is_told_ = false;       // of the stop in progress
  bool is_port_over_ = false;  // nobody is at its other end
  // Frames that have not ended yet, by their number.
  std::map<std::uint32_t, std::string> frames_;
  std::size_t frame_bytes_ = 0;

  Mutex mutex_;
  python::StopReason stop_wanted_ GUARDED_BY(mutex_) = python::StopReason::none;
  bool acknowledged_ GUARDED_BY(mutex_) = false;
  bool repeat_wanted_ GUARDED_BY(mutex_) = false;
  bool is_away_ GUARDED_BY(mutex_) = false;     // in a call of the plan's
  bool is_overdue_ GUARDED_BY(mutex_) = false;  // it was killed meanwhile
  bool has_ended_ GUARDED_BY(mutex_) = false;   // this turn
  std::optional<Alarm> alarm_;
};

}  // namespace cloche::sandbox
