// SPDX-License-Identifier: Apache-2.0
// Session: a client's handle on one sandbox, with a lifetime.
//
// Thread-safe. The sandbox lives as long as the session is open, and as long as a Use of it: what
// runs when a session is closed is killed, and its caller still gets the result. That of a saved
// session is made at the first use; and again where it has been ended from outside of it, as after
// the end of a server.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/timed_mutex.h"
#include "cloche/python_session.h"
#include "cloche/sandbox.h"
#include "session/session_facts.h"
#include "session/state_store.h"

namespace cloche::session {

// A sandbox, and the Python in it that the host drives.
struct Twin {
  std::shared_ptr<Sandbox> sandbox;
  std::shared_ptr<PythonSession> python;  // null: none
};

class Session {
 public:
  // `clock` outlives it.
  Session(Facts facts, Twin state, SteadyTime deadline, Clock& clock);
  // One that is saved. The loader is called at the first use, and again after a failure that may
  // pass; one call at a time.
  struct LoadProblem {
    bool for_good = false;
    std::string sentence;
  };
  struct Loaded {
    Twin state;
    std::string changed_packages;  // see Restart
  };
  using Loader = std::function<std::variant<Loaded, LoadProblem>(Session& session)>;
  // Of one that has its sandbox and is saved; before anybody uses it.
  void reload_by(Loader loader) { reloader_ = std::move(loader); }
  Session(StateStore::Found found, Loader loader, SteadyTime deadline, Clock& clock);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Facts& facts() const noexcept { return facts_; }
  Status status() const;
  WallTime last_activity() const;
  WallTime expires() const;  // WallTime::max(): never

  // Keeps the sandbox there and the session from being idle. Empty when it is paused or closed, or
  // cannot be read from where it was saved: trouble() says why. The first use of a saved session
  // waits until it is read.
  class Use {
   public:
    Use() = default;
    Use(Use&&) noexcept = default;
    Use& operator=(Use&& other) noexcept;
    ~Use();
    explicit operator bool() const noexcept { return sandbox_ != nullptr; }
    Sandbox& operator*() const noexcept { return *sandbox_; }
    Sandbox* operator->() const noexcept { return sandbox_.get(); }
    const std::shared_ptr<Sandbox>& sandbox() const noexcept { return sandbox_; }

    // Whether the session runs, and this sandbox is still it: what is held beyond this use, and
    // would have been ended by a pause, an end or replace(), asks once it can be found.
    bool is_current() const;

    // The session's Python that the host drives: one for all who use the session; it is made at the
    // first ask, and keeps its sandbox there. Null where the engine has none.
    std::shared_ptr<PythonSession> python() const;
    // From now on the session is that sandbox, with that Python where there is one; what runs in
    // the old one ends. False when the session was paused or closed meanwhile.
    bool replace(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<PythonSession> python) const;

   private:
    friend class Session;
    Use(std::shared_ptr<Session> session, std::shared_ptr<Sandbox> sandbox);
    std::shared_ptr<Session> session_;
    std::shared_ptr<Sandbox> sandbox_;
  };
  static Use use(const std::shared_ptr<Session>& session);
  // The Python of Use::python, where somebody has asked for it; otherwise null.
  std::shared_ptr<PythonSession> made_python() const;
  // Executions of that one go one after the other: who executes holds this.
  TimedMutex& python_turn() noexcept { return python_turn_; }

  // Why the last use found no sandbox, one sentence; empty: it did.
  std::string trouble() const;

  // That a server has started anew since the last answer about this session: what ran in it is
  // gone. Nothing: that is not so, or has been told.
  struct Restart {
    // Packages that are of other versions than they were: "numpy 2.1=2.2, polars 1.0=none".
    std::string changed_packages;
  };
  std::optional<Restart> restart() const;
  // It is going to another server with its cell's key, and cannot be used here any more.
  bool is_leaving() const;
  // It has gone there, with all that it had.
  bool has_left() const;
  void restart_is_told();

  // For a look that is no use; null: it has not been read, or is closed.
  std::shared_ptr<Sandbox> sandbox() const;
  // With a number that is another one where it is no fork of the one before.
  std::pair<std::shared_ptr<Sandbox>, std::uint64_t> sandbox_and_origin() const;
  // Paused, and its processes are there and stand still.
  bool is_frozen() const;
  // Paused, and what it is then is being made.
  bool is_pausing() const;

  void touch();

  // False when it is not running (not paused). A paused session keeps files, packages, environment
  // and a live Python; its processes end. `stopping` is called in between, when nothing begins in
  // it any more: what a process waits for must let go of it then. Waits for nothing that runs in
  // it: what has not ended by then is cancelled. Throws Error where it cannot be: it runs on then,
  // and all that ran in it but runs of the kept shell and of Python.
  bool pause(const std::function<void()>& stopping);
  // The same, but its processes stop where they are, all of them, and go on when it is resumed.
  bool freeze(const std::function<void()>& stopping);
  // A pause that is under way comes first, so that nothing of what runs from now on ends by it.
  bool resume();

  // When it is due to be closed, as far as one can say now. No use of it counts as idle.
  SteadyTime due(std::chrono::milliseconds idle_timeout) const;

 private:
  friend class SessionManager;
  friend class SessionSaver;
  // Kills what runs, and lets go of the sandbox; `stopping` as for pause. False when that was done
  // before.
  bool close(const std::function<void()>& stopping);
  void extend(WallTime expires, SteadyTime deadline);
  // Whether one that was saved has time left by the time of day, which may have been set since its
  // deadline was counted: then it has a later one.
  bool has_more_time();
  // Given each sandbox that the session gets, before anybody uses it. Once, before the first use.
  void watch_by(std::function<void(Sandbox& sandbox)> watcher);
  void release();
  void load();
  // Where its sandbox has been ended from outside of it, and can be read again: there is none.
  void let_go_of_ended();
  // Why its sandbox is gone, and will not come again; empty: it is there, or can be read.
  std::string why_failed() const REQUIRES(mutex_);
  // With a turn of its own. False: somebody else was there before.
  bool resume_in_turn() EXCLUDES(turn_);
  // From now on nobody begins to use it; whether nobody uses it any more by then. Waits.
  bool begin_to_leave(SteadyTime deadline);
  void stay();
  void leave();

  Clock& clock_;
  const Facts facts_;
  // Who makes its sandbox leave, stand still or go on, one at a time. That may take a while; all
  // who look at the session take mutex_, which comes after it.
  Mutex turn_;
  mutable Mutex mutex_;
  SteadyTime deadline_ GUARDED_BY(mutex_);
  WallTime expires_ GUARDED_BY(mutex_);
  bool counts_by_saved_ GUARDED_BY(mutex_) = false;  // when it ends is what its file says
  bool frozen_ GUARDED_BY(mutex_) = false;
  std::uint64_t pauses_ GUARDED_BY(mutex_) = 0;
  std::size_t pausing_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Sandbox> sandbox_ GUARDED_BY(mutex_);
  std::uint64_t origin_ GUARDED_BY(mutex_) = 0;  // of sandbox_
  // Of sandbox_; null: nobody has asked for it yet.
  std::shared_ptr<PythonSession> python_ GUARDED_BY(mutex_);
  Status status_ GUARDED_BY(mutex_) = Status::running;
  std::size_t uses_ GUARDED_BY(mutex_) = 0;
  Condition unused_;
  bool leaving_ GUARDED_BY(mutex_) = false;
  bool left_ GUARDED_BY(mutex_) = false;
  Moment last_activity_ GUARDED_BY(mutex_);

  std::function<void(Sandbox& sandbox)> watcher_;  // never changes once somebody uses the session

  TimedMutex python_turn_;

  Mutex load_mutex_;
  Loader reloader_;                        // never changes once somebody uses the session
  Loader loader_ GUARDED_BY(load_mutex_);  // null: there is nothing to load
  bool unreadable_ GUARDED_BY(load_mutex_) = false;
  std::string trouble_ GUARDED_BY(mutex_);
  // When it was saved, or has been ended, and it is not read yet.
  bool was_running_ GUARDED_BY(mutex_) = false;
  std::optional<Restart> restart_ GUARDED_BY(mutex_);

  Mutex save_mutex_;  // one save at a time, none after the close
  SavedChain chain_ GUARDED_BY(save_mutex_);
  std::atomic<std::uint64_t> changes_ = 0;
  std::uint64_t saved_ GUARDED_BY(save_mutex_) = 0;
};

// The Python of that sandbox, which it keeps there.
std::shared_ptr<PythonSession> python_in(std::shared_ptr<Sandbox> sandbox);

// An independent sandbox that goes on from here, and the Python with it where there is one that
// executes nothing. Throws Error when there is no memory for it.
Twin fork_with_python(Sandbox& sandbox, PythonSession* python);

}  // namespace cloche::session
