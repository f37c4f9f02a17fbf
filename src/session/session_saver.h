// SPDX-License-Identifier: Apache-2.0
// SessionSaver: when sessions are saved, and what is known of those that could not be.
//
// What cannot be saved is told to whoever asked for it, and tried again by a thread of the saver's
// until it is saved: until then trouble() says so. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "session/session.h"
#include "session/state_store.h"

namespace cloche::session {

// What a server's crash may cost: nothing that was answered; all since the session was made or
// paused last; or that many seconds.
enum class SavePolicy : std::uint8_t { always, pause, interval };

struct SaveEvent {
  enum class Result : std::uint8_t { saved, unchanged, failed };
  Result result = Result::saved;
  std::uint64_t bytes = 0;
  std::chrono::duration<double> duration{0};
};

// What came of a session's live Python.
enum class LiveEvent : std::uint8_t {
  saved,
  left_out,  // when it was to be saved: the session goes on without it
  restored,
  dropped,  // when it was to be restored: the same
};

struct SaverOptions {
  std::string folder;
  CellKey cell = 0;  // that has the folder; 0: none
  SavePolicy policy = SavePolicy::always;
  std::chrono::seconds interval{0};  // of SavePolicy::interval
  HostFiles* files = nullptr;        // null: the host's own
  Clock* clock = nullptr;            // the same
  // Told one sentence where something cannot be saved or read. Any thread.
  std::function<void(const std::string& sentence)> trouble;
  std::function<void(const SaveEvent& event)> saved;  // after each save
  std::function<void(LiveEvent event)> live_python;
  std::uint64_t live_python_bytes = std::uint64_t{1} << 30;  // of one, at most
};

class SessionSaver {
 public:
  // Throws HostError with one sentence where the folder cannot be used.
  explicit SessionSaver(SaverOptions options);
  ~SessionSaver();
  SessionSaver(const SessionSaver&) = delete;
  SessionSaver& operator=(const SessionSaver&) = delete;

  StateStore& store() noexcept { return store_; }

  // What happened in the session is answered to a client now: saves as the policy says.
  Result<void> save(const std::shared_ptr<Session>& session);
  // Something is being done in the session of which nobody is told when it is done, as by who types
  // into a terminal: what the policy saves before answers is saved within some seconds.
  void save_soon(const std::shared_ptr<Session>& session);
  // Whatever the policy says.
  Result<void> save_now(const std::shared_ptr<Session>& session);
  // Its files. After an error they are removed as soon as that can be done.
  Result<void> forget(Session& session, StateStore::Removal what);

  // Why not all is saved that was done, one sentence; empty: it is, but for sessions in which there
  // is what cannot be saved: a guest's own affair, which is no other's.
  std::string trouble() const;
  std::size_t unsaved() const;  // sessions, and files to be removed

 private:
  // Retried after a second, then after twice as long each time.
  struct Unsaved {
    std::weak_ptr<Session> session = {};
    std::optional<StateStore::Removal> removal = {};  // instead: its files must be removed
    LivePython live = {};                             // the same
    std::string why = {};
    bool is_its_own = false;  // what is in it cannot be written, wherever to
    std::chrono::seconds delay{1};
    SteadyTime due = {};
  };
  void save_within(const std::shared_ptr<Session>& session, std::chrono::seconds time);
  struct NotWritten {
    Errno error;
    bool is_its_own = false;  // as of Unsaved
  };
  // Nothing: it is written.
  std::optional<NotWritten> write(Session& session) REQUIRES(session.save_mutex_);
  Checkpoint checkpoint_of(Session& session, Sandbox& sandbox, bool is_at_rest) const;
  // The file with its live Python, which is written where that is needed.
  Result<LivePython> live_of(Session& session, bool has_been_read, bool is_at_rest)
      REQUIRES(session.save_mutex_);
  Result<LivePython> write_live(Session& session, PythonSession& python)
      REQUIRES(session.save_mutex_);
  void note_failure(const std::string& id, Unsaved what, Errno error);
  void note_success(const std::string& id);
  void note_saved(const std::string& id);
  void complain(const std::string& sentence) const;
  void work();
  void retry(const std::string& id, const Unsaved& what);

  const SaverOptions options_;
  Clock& clock_;
  StateStore store_;
  mutable Mutex mutex_;
  Condition changed_;
  std::map<std::string, Unsaved> unsaved_ GUARDED_BY(mutex_);                 // by the session's id
  std::map<std::string, std::weak_ptr<Session>> waiting_ GUARDED_BY(mutex_);  // for the interval
  SteadyTime interval_due_ GUARDED_BY(mutex_) = SteadyTime::max();
  bool closing_ GUARDED_BY(mutex_) = false;
  std::thread worker_;
};

}  // namespace cloche::session
