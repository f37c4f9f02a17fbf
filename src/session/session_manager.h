// SPDX-License-Identifier: Apache-2.0
// SessionManager: all sessions of a server: makes, finds, lists and closes them, by request, by age
// and by idleness. One session has one sandbox, and no sandbox belongs to two.
//
// Thread-safe. Finding costs a hash lookup; a page of a list costs its length, in the order of
// creation, newest first, which never changes while sessions come and go. It has one thread, which
// sleeps until the next session is due; what may wait for a sandbox is done on others, so that all
// sessions end in time whatever one of them does.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/mutex.h"
#include "cloche/engine.h"
#include "sandbox/options/option_bounds.h"
#include "session/cell_key.h"
#include "session/event_log.h"
#include "session/places.h"
#include "session/session.h"
#include "session/session_saver.h"
#include "session/worker_pool.h"

namespace cloche::session {

enum class Event : std::uint8_t {
  created,
  forked,  // told of the new one
  restored,
  closed,
  expired,
  idled,
  paused,
  resumed,
  extended,
  ended,  // with the server; one that is saved is there again at the next start
  left    // its cell's key is another server's now
};

// Why there is no session.
enum class RefusalReason : std::uint8_t {
  owner_limit,   // the owner has all that an owner may have
  owner_unsure,  // another cell does not say how many the owner has
  session_limit,
  memory,
  ending,    // no more are made here
  failed,    // the sandbox cannot be made
  not_saved  // Refusal::save_error says why
};

enum class Timed : std::uint8_t { creation, restoration };

struct CountElsewhere {
  std::size_t count = 0;
  std::string trouble;  // why no session may be made, one sentence; empty: it may
};

struct ManagerOptions {
  CellKey cell = 0;  // in the id of each session; 0: there are no other cells
  std::size_t session_limit = 1000;
  std::size_t session_limit_per_owner = 0;  // 0: only the limit of all
  // How many sessions an owner has in other cells, for a place of that rank (Places): asked where
  // there is a limit for owners. Empty: there are no other cells. Waits; any thread.
  std::function<CountElsewhere(const std::string& owner, const Rank& rank)> count_elsewhere;
  std::uint64_t memory_limit_bytes =
      0;  // of this process, asked for before a session is made; 0: none
  std::chrono::milliseconds idle_timeout{0};  // 0: none
  std::string state_folder;  // where sessions survive the server; empty: nowhere. A cell's are in
                             // the folder KEY of it
  SavePolicy save_policy = SavePolicy::always;
  std::chrono::seconds save_interval{0};  // of SavePolicy::interval
  // What was over when it was found is removed so much later, in case the clock was wrong.
  std::chrono::seconds overdue_kept{3600};
  HostFiles* state_files = nullptr;    // how they are written; null: by the host's own calls
  Clock* clock = nullptr;              // null: the host's
  SandboxOptions sandbox;              // of every session
  std::vector<sandbox::Grant> grants;  // what else may be asked for
  // Asked for a session of Lifetime::of_time whose deadline has come: true where that has been seen
  // to, and it lives on with another one. Once at a time for each, on any thread; it may wait.
  std::function<bool(const std::shared_ptr<Session>& session)> came_due;
  // Told when nothing begins in a session any more, and what runs in it is about to be ended: a
  // callback of a run that waits for something must return then. Any thread.
  std::function<void(const Session& session)> stopping;
  // Told one sentence where a session cannot be saved, or restored. Any thread.
  std::function<void(const std::string& sentence)> trouble;
  // Told after each save. Any thread.
  std::function<void(const SaveEvent& event)> saved;
  std::function<void(LiveEvent event)> live_python;
  // The audit: told after each event, on any thread, without a lock held.
  std::function<void(Event event, const Session& session)> audit;
  EventLog::Witness witness;  // of the log of events
  // Told of each session that is not made, and how long it took to make or to read one. Any thread.
  std::function<void(RefusalReason reason)> refused;
  std::function<void(Timed what, std::chrono::duration<double> duration)> timed;
};

// Where the sessions of that key are kept; empty: nowhere.
std::string state_folder_of(const ManagerOptions& options, CellKey key);

struct SessionRequest {
  std::string owner;
  std::chrono::seconds ttl{0};  // 0: for ever
  std::string metadata = "{}";
  std::string image;
  std::string ssh_public_key;
  std::string door = {};  // by which it is asked for
  // What is asked for beside the manager's own, as JSON: what options_for() was given. It is kept
  // with the session, over restarts and in forks.
  std::string wish = {};
  std::optional<SandboxOptions> sandbox = {};  // what options_for() made of it; absent: no wish
  std::string id = {};                         // empty: a new one
  Lifetime lifetime = Lifetime::of_use;
};

struct Refusal {
  RefusalReason reason = RefusalReason::failed;
  std::string sentence;  // one
  std::optional<Errno> save_error = {};
  std::optional<Error> error = {};  // of RefusalReason::failed, where it is known
};

// How much more a server can take.
struct Room {
  std::size_t sessions = 0;
  std::size_t session_limit = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;  // 0: none
  bool ending = false;
  // Of sessions or memory, of which there is less: from 0, no room, to 1, all of it.
  double headroom() const;
  // Nothing more is kept in memory then.
  bool is_over_memory() const {
    return memory_limit_bytes > 0 && memory_bytes > memory_limit_bytes;
  }
};

// Of what changes a session for good: whether there was anything to do, and whether it is saved.
struct Change {
  bool done = false;
  Result<void> saved;
  explicit operator bool() const noexcept { return done; }
};

class SessionManager {
 public:
  // `engine` outlives it, and so do the options' callbacks. Finds what the state folder has,
  // without reading more than the beginnings of its files. Throws HostError when that cannot be
  // used.
  SessionManager(Engine& engine, ManagerOptions options);
  ~SessionManager();  // end()
  SessionManager(const SessionManager&) = delete;
  SessionManager& operator=(const SessionManager&) = delete;

  // `make_sandbox` gives its sandbox, or throws with one sentence; empty: a new one as the options
  // say.
  using MakeSandbox = std::function<std::unique_ptr<Sandbox>()>;
  std::variant<std::shared_ptr<Session>, Refusal> create(const SessionRequest& request,
                                                         const MakeSandbox& make_sandbox = {});

  // Null when there is none, or it belongs to somebody else.
  std::shared_ptr<Session> find(std::string_view id, std::string_view owner);
  // Whoever owns it.
  std::shared_ptr<Session> find_any(std::string_view id);
  // The key in the id of that session, where it is none of those that this server has.
  std::optional<CellKey> other_cell(std::string_view id) const;

  // --- Keys of cells: a server has its own, and may have those of others beside it.

  std::vector<CellKey> keys() const;
  // Whether it had that one, and has given it up.
  bool has_given_up(CellKey key) const;
  std::vector<CellKey> keys_given_up() const;
  // Its sessions are this server's from now on, as the state folder has them: another server that
  // has the key must have given it up. Done where it is there already. The error's sentence says
  // why not.
  Result<void, Error> take_key(CellKey key) EXCLUDES(keys_mutex_);
  // Those that this cell had beside its own when it ended, and that nobody has taken since; what
  // cannot be taken is complained of. For its start.
  void take_back_keys() EXCLUDES(keys_mutex_);
  // Its sessions are saved, and end here: what runs in them has `patience` before that. With its
  // own key a server makes no session any more. After an error all is as it was, but for what was
  // ended.
  Result<void, Error> give_up_key(CellKey key, std::chrono::milliseconds patience)
      EXCLUDES(keys_mutex_);
  // The same with those whose folders another server has taken, as it may where this one was held
  // to be lost: nothing is saved, and what is done in their sessions meanwhile is told to be lost.
  void let_go_of_taken_keys() EXCLUDES(keys_mutex_);

  struct Page {
    std::vector<std::shared_ptr<Session>> sessions;
    std::size_t total = 0;
  };
  Page list(const std::string& owner, std::size_t limit, std::size_t offset);

  // Whether there is something saved under that id that cannot be read: whose it was is not known.
  bool is_unreadable(std::string_view id) const;

  // Not done when there is none of that owner (any more). What runs in it is killed before this
  // returns. Where its files cannot be removed that is done as soon as it can be.
  Change close(std::string_view id, std::string_view owner);
  void close_all();

  // Everything that has been done in the session up to now survives the server, once this returns
  // without an error, as far as the policy says; for before the client is told that it is done.
  // After an error it is tried again until it is saved. Without a state folder nothing is saved.
  Result<void> save(const std::shared_ptr<Session>& session);
  // Something is being done in it of which nobody is told when it is done, as by who types into a
  // terminal: it survives the server some seconds later. Waits for nothing.
  void save_soon(const std::shared_ptr<Session>& session);
  // As close_all, but where there is a state folder the sessions are there again at the next start;
  // and nobody is asked about a deadline any more.
  void end();

  // What was done and cannot be saved, one sentence; empty: all is well.
  std::string save_trouble() const;
  std::size_t unsaved() const;

  enum class Processes : std::uint8_t { end, stop };
  Change pause(const std::shared_ptr<Session>& session, Processes processes = Processes::end);
  Change resume(const std::shared_ptr<Session>& session);

  // So many independent sessions of the same owner that go on from where this one is, its Python
  // and its shell included; all of them or none.
  std::variant<std::vector<std::shared_ptr<Session>>, Refusal> fork(
      const std::shared_ptr<Session>& session, std::size_t count);
  // From now on the session has that long to live; 0: for ever.
  Change extend(const std::shared_ptr<Session>& session, std::chrono::seconds ttl);

  // What a session has that is asked for so. Throws as sandbox::options_within does, and an Error
  // of kind request for a wish that is too long to be kept.
  SandboxOptions options_for(const Json& wish, sandbox::Beyond beyond) const;
  EventLog& events() noexcept { return events_; }
  // When a session of Lifetime::of_time ends; max: never.
  void set_deadline(const std::shared_ptr<Session>& session, SteadyTime deadline);

  // What another cell counts here for a place of that rank.
  std::size_t count_of(const std::string& owner, const Rank& asked);
  // The largest number of a rank that is known here; and what another cell says of its own, which
  // is heard before that cell is asked for a count.
  std::uint64_t last_rank() const;
  void hear_of_rank(std::uint64_t number);

  std::size_t count() const;
  Room room() const;
  // No session is made any more: the server is about to end.
  void stop_creating();

 private:
  using ByAge = std::vector<std::shared_ptr<Session>>;  // the oldest first
  static std::pair<WallTime, std::uint64_t> age_of(const std::shared_ptr<Session>& session) {
    return {session->facts().created, session->facts().sequence};
  }
  struct Due {
    SteadyTime when;
    std::weak_ptr<Session> session;
    bool operator<(const Due& other) const { return when > other.when; }
  };

  // Places for sessions that are being made, where there are as many.
  std::variant<Rank, Refusal> take_places(const std::string& owner, std::size_t count);
  std::optional<Refusal> no_room(std::size_t owned, std::size_t count) const REQUIRES(mutex_);
  void give_places_back(const std::string& owner, const Rank& rank, std::size_t count)
      REQUIRES(mutex_);
  std::variant<std::shared_ptr<Session>, Refusal> make(const SessionRequest& request,
                                                       const MakeSandbox& make_sandbox,
                                                       const Rank& rank);
  // Takes a place of that rank.
  std::variant<std::shared_ptr<Session>, Refusal> adopt(Facts facts, std::chrono::seconds ttl,
                                                        Twin state, Event event, const Rank& rank);
  std::shared_ptr<Session> take_out(std::string_view id, const std::string_view* owner);
  std::vector<std::shared_ptr<Session>> take_out_all();
  void add(const std::shared_ptr<Session>& session) REQUIRES(mutex_);
  // With its live Python, where that is there and fits.
  Twin with_python(Session& session, StateStore& store, std::shared_ptr<Sandbox> sandbox) const;
  SandboxOptions options_of_saved(const Facts& facts) const;
  void log_what_happens_in(Session& session);
  void watch(const std::shared_ptr<Session>& session) REQUIRES(mutex_);
  using SaverPtr = std::shared_ptr<SessionSaver>;
  SaverPtr make_saver(CellKey key) const;
  // Null: it is not saved. ESTALE: its key is another server's.
  Result<SaverPtr> saver_of(const Facts& facts) const;
  std::vector<SaverPtr> all_savers() const;
  CellKey key_of(std::string_view id) const;
  // What the folder has, as sessions, which nobody finds yet, but for those that are overdue.
  std::vector<std::shared_ptr<Session>> find_saved(const SaverPtr& saver);
  std::shared_ptr<Session> make_saved(StateStore::Found found, const Moment& now);
  void remove_overdue(SessionSaver& saver, const StateStore::Found& found) const;
  void look_at_overdue();
  std::vector<std::shared_ptr<Session>> take_out_key(CellKey key);
  void end_uses_of(const std::vector<std::shared_ptr<Session>>& sessions,
                   SteadyTime deadline) const;
  void end_all_of(const std::vector<std::shared_ptr<Session>>& sessions);
  std::variant<Session::Loaded, Session::LoadProblem> load(Session& session);
  Result<void> save_now(const std::shared_ptr<Session>& session);
  void stop(Session& session);
  void let_go(const Session& session) const;
  Result<void> forget(Session& session, StateStore::Removal what);
  void tell(Event event, const Session& session) const;
  void complain(const std::string& sentence) const;
  void look_at_memory();
  void trim_memory();
  void reap();
  void see_to_end(const std::shared_ptr<Session>& session);

  Engine& engine_;
  const ManagerOptions options_;
  Clock& clock_;
  mutable EventLog events_;  // sandboxes tell it, and go before it
  Mutex keys_mutex_;         // held while a key is taken or given up
  mutable Mutex mutex_;
  // By key of the cell, which is 0 where there are no others; a null one saves nothing.
  std::map<CellKey, SaverPtr> savers_ GUARDED_BY(mutex_);
  std::map<CellKey, SaverPtr> leaving_ GUARDED_BY(mutex_);  // of keys that are being given up
  std::set<CellKey> given_up_ GUARDED_BY(mutex_);
  std::unordered_set<std::string> unread_ GUARDED_BY(mutex_);  // ids
  // Saved sessions whose time was over when they were found, by the time of day.
  struct Overdue {
    StateStore::Found found;
    std::weak_ptr<SessionSaver> saver;  // gone: they are another server's
    SteadyTime kept_until;
  };
  std::vector<Overdue> overdue_ GUARDED_BY(mutex_);
  SteadyTime overdue_look_ GUARDED_BY(mutex_) = SteadyTime::max();  // when to look at them
  std::unordered_map<std::string, std::shared_ptr<Session>> sessions_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, ByAge> owners_ GUARDED_BY(mutex_);
  Places places_ GUARDED_BY(mutex_);
  Condition made_;  // none is being made any more
  bool ending_ GUARDED_BY(mutex_) = false;
  std::uint64_t last_sequence_ GUARDED_BY(mutex_) = 0;
  std::priority_queue<Due> due_ GUARDED_BY(mutex_);
  std::unordered_set<std::string> seen_to_ GUARDED_BY(mutex_);  // ids of those that were due
  Condition all_seen_to_;
  Condition due_changed_;
  bool closing_ GUARDED_BY(mutex_) = false;
  SteadyTime memory_due_ GUARDED_BY(mutex_) =
      SteadyTime::max();  // when to look; max: nothing has been freed
  SteadyTime memory_looked_at_ GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> resident_after_trim_ = 0;
  std::thread reaper_;
  // For one look at each session at a time: none waits for another one's.
  WorkerPool looks_{std::numeric_limits<std::size_t>::max()};
};

}  // namespace cloche::session
