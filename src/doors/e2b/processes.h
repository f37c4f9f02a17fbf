// SPDX-License-Identifier: Apache-2.0
// Processes: those of one sandbox that its agent has started: whoever asks may listen to them,
// write to them and signal them, by their number or their tag. They go on when their client leaves.
//
// Thread-safe. What is made of a sandbox holds it; stop() lets go of everything.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cloche/live_run.h"
#include "doors/e2b/connect_wire.h"
#include "doors/e2b/event_stream.h"
#include "session/session.h"
#include "session/worker_pool.h"

namespace cloche::e2b {

class Processes;

// What is started.
struct StartWish {
  LiveRunOptions run;
  OrderedJson config;  // as the client gave it, told by List
  std::string tag;
  bool has_input = true;
};

// How one has ended, as the client is told.
struct ProcessEnd {
  OrderedJson event;
  std::optional<CallError> error;  // of the stream that started it
};

class Process : public std::enable_shared_from_this<Process> {
 public:
  const std::string& tag() const noexcept { return tag_; }
  const OrderedJson& config() const noexcept { return config_; }
  int pid() const noexcept { return pid_; }
  bool has_terminal() const noexcept { return has_terminal_; }

  // The start event now, and all that comes from now on.
  void add(const std::shared_ptr<EventStream>& listener);
  // These two wait for as long as the process goes on to read, and not beyond `limit`.
  using TimeLimit = std::optional<std::chrono::milliseconds>;
  CallResult<bool> write_input(std::string_view bytes, TimeLimit limit);
  CallResult<bool> type(std::string_view bytes, TimeLimit limit);
  CallResult<bool> close_input();
  CallResult<bool> resize(const TerminalSize& size);
  CallResult<bool> signal(int number);

 private:
  friend class Processes;
  Process() = default;
  CallResult<bool> give(LiveRun& live, std::string_view bytes, TimeLimit limit,
                        const CallError& closed);
  void output(Stream stream, std::string_view data);
  void tell(const std::string& frame);
  // Of all listeners' streams.
  void end_streams(const std::string& last_frame);
  std::string start_frame() const;
  std::shared_ptr<LiveRun> live() const;

  std::string tag_;
  OrderedJson config_;
  bool has_terminal_ = false;
  bool has_input_ = true;
  int pid_ = 0;  // set before anybody else knows it

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<EventStream>> listeners_ GUARDED_BY(mutex_);
  std::shared_ptr<EventStream> starter_ GUARDED_BY(mutex_);  // whose deadline it has
  std::shared_ptr<LiveRun> live_ GUARDED_BY(mutex_);  // null: it has ended. It goes before use_
  session::Session::Use use_ GUARDED_BY(mutex_);
  bool input_closed_ GUARDED_BY(mutex_) = false;

  // For who waits to give it input. The other one is held until it has begun, and who tells of room
  // may be who begins it.
  Mutex room_mutex_;
  Condition room_changed_;
  std::uint64_t rooms_ GUARDED_BY(room_mutex_) = 0;  // how often there was room again
  bool is_over_ GUARDED_BY(room_mutex_) = false;
};

// How many processes there are, of all sandboxes: at its end a server waits for those of which it
// has not heard yet that they have ended. Thread-safe.
class ProcessCount {
 public:
  void add() {
    const MutexLock lock(mutex_);
    ++count_;
  }
  void remove() {
    const MutexLock lock(mutex_);
    --count_;
    none_.notify_all();
  }
  void wait_for_none() {
    const MutexLock lock(mutex_);
    none_.wait(mutex_, [this]() REQUIRES(mutex_) { return count_ == 0; });
  }

 private:
  Mutex mutex_;
  Condition none_;
  std::size_t count_ GUARDED_BY(mutex_) = 0;
};

class Processes : public std::enable_shared_from_this<Processes> {
 public:
  // `workers` outlives the work that is posted to it: threads are joined there.
  Processes(session::WorkerPool& workers, std::shared_ptr<ProcessCount> count)
      : workers_(workers), count_(std::move(count)) {}
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // An error where it cannot be started: nothing has been sent then.
  CallResult<std::shared_ptr<Process>> start(session::Session::Use use, StartWish wish,
                                             http::Exchange& exchange,
                                             std::chrono::seconds silence);

  // By {"pid": N} or {"tag": "..."}.
  CallResult<std::shared_ptr<Process>> find(const Json* selector) const;
  // One that has ended less than some minutes ago: its number and the event of its end.
  std::optional<std::pair<int, OrderedJson>> find_ended(const Json* selector) const;
  std::vector<std::shared_ptr<Process>> list() const;

  // All streams end with that error; the processes go on.
  void end_streams(const CallError& why);
  // The same, and nothing is known of the processes any more, which somebody else ends.
  void stop(const CallError& why);

 private:
  struct Ended {
    int pid;
    std::string tag;
    OrderedJson event;
    std::chrono::steady_clock::time_point when;
  };
  void ended(const std::shared_ptr<Process>& process, const RunResult& result);

  session::WorkerPool& workers_;
  const std::shared_ptr<ProcessCount> count_;
  mutable Mutex mutex_;
  std::map<int, std::shared_ptr<Process>> processes_ GUARDED_BY(mutex_);
  std::deque<Ended> ended_ GUARDED_BY(mutex_);  // the oldest first
};

ProcessEnd end_of(const RunResult& result);

}  // namespace cloche::e2b
