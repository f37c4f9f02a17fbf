// SPDX-License-Identifier: Apache-2.0
// WorkerSet: the worker processes of a server with `--isolate`: one for each owner, started when it
// is asked for and ended when it has had nothing to do for a while; or one for each session, which
// ends with it.
//
// A worker is reached by connections that have no name: a pair of sockets, of which it is given one
// over the channel that it was started with. So nobody else reaches it, and there is no file and no
// secret. A worker has a key, which is in the ids of its sessions and names its folder of states.
// An owner keeps its key, for good where there is a state folder. A session's key is free once its
// worker has said that there is no session any more; where the worker ends before that, the state
// folder has the session, and the next worker of the key reads it. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/host_files.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "cluster/spawner.h"
#include "session/folder_claim.h"

namespace cloche::cluster {

// What is said over a worker's channel: a connection, with its descriptor; and whether it has
// nothing to do, with a number that its answer has too.
inline constexpr std::string_view connection_message = "connection";
inline constexpr std::string_view question_message = "idle? ";
inline constexpr std::string_view idle_message = "idle ";
inline constexpr std::string_view busy_message = "busy ";

// What a worker is for: all that an owner has, for as long as there is something; or one session.
enum class WorkerKind : std::uint8_t { of_owner, of_session };

// Why there is no connection to a worker, one sentence.
struct NoWorker {
  enum class Why : std::uint8_t {
    gone,         // there is no session of that key
    full,         // all workers are in use
    owner_limit,  // the owner has as many as an owner may have
    failed
  };
  Why why = Why::failed;
  std::string sentence;
};

class WorkerSet {
 public:
  struct Options {
    std::size_t limit = 64;                    // of workers at a time
    std::size_t limit_per_owner = 0;           // of those of sessions; 0: only the limit of all
    std::chrono::milliseconds idle{60'000};    // one that has nothing for that long ends
    std::chrono::milliseconds ending{30'000};  // one that does not end for that long is killed
    std::string state_folder;                  // where owners keep their keys; empty: nowhere
    std::function<void(CellKey key, const std::string& owner)> started;
    std::function<void(const WorkerEnd& end, const std::string& owner)> ended;
    std::function<void()> lost;  // the spawner has gone: nothing can be started any more
    // Told before one that has nothing is ended, with a connection to it: it may be asked
    // something.
    std::function<void(CellKey key, UniqueFd connection)> leaving;
  };
  // `spawner` outlives it. Throws HostError where the state folder cannot be used.
  WorkerSet(Spawner& spawner, Options options);
  ~WorkerSet();  // stop()
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;

  // A connection to the owner's worker, which is started where there is none. Waits while the one
  // before is ending.
  std::variant<UniqueFd, NoWorker> connect(const std::string& owner);
  // To the worker of that key, in the same way.
  std::variant<UniqueFd, NoWorker> connect(CellKey key);
  // To a new one, for a session of that owner.
  struct NewWorker {
    CellKey key = 0;
    UniqueFd connection;
  };
  std::variant<NewWorker, NoWorker> connect_new(const std::string& owner);
  // One to each worker that runs, of one owner, where one is named; none where it takes none now.
  std::vector<std::pair<CellKey, UniqueFd>> connect_all(const std::string* owner = nullptr);

  // Whose sessions have that key.
  std::optional<std::string> owner_of(CellKey key) const;
  // The key of an owner that has had a worker.
  std::optional<CellKey> key_of(const std::string& owner) const;
  // The keys of that owner's sessions whose workers do not run.
  std::vector<CellKey> keys_away(const std::string& owner) const;
  std::size_t count() const;
  std::size_t limit() const noexcept { return options_.limit; }

  // The session of that key may have ended: its worker is asked soon, and ended then.
  void may_be_idle(CellKey key);

  // Workers end, each as it is asked to by a signal; none is started any more. Does not wait.
  void begin_to_end();
  // And waits until all have ended.
  void stop();

 private:
  enum class Stage : std::uint8_t { away, running, ending };
  struct Worker {
    std::string owner;
    WorkerKind kind = WorkerKind::of_owner;
    Stage stage = Stage::away;
    std::shared_ptr<UniqueFd> channel;  // of one that runs
    std::uint64_t connections = 0;      // that it was given
    bool asked = false;                 // whether it is idle, and has not said yet
    // It has said nothing: until then it is not asked for the sake of another one.
    std::chrono::steady_clock::time_point silent_until;
    bool is_done = false;    // it has said that it has nothing, and was ended
    bool is_wanted = false;  // its session is in the state folder: it is started soon
    std::chrono::steady_clock::time_point used;
    std::chrono::steady_clock::time_point killed;  // when it is, while it ends
  };
  // When one that may have nothing is asked next.
  struct Suspect {
    std::chrono::steady_clock::time_point due;
    std::chrono::milliseconds pause;
  };

  // Nothing: it runs, or another thread has ended it in the meantime.
  std::optional<NoWorker> start(CellKey key) REQUIRES(mutex_);
  std::optional<CellKey> add_key(const std::string& owner, WorkerKind kind) REQUIRES(mutex_);
  std::variant<UniqueFd, NoWorker> reach(CellKey key) REQUIRES(mutex_);
  static std::variant<UniqueFd, int> connect_over(int channel);
  static std::variant<UniqueFd, int> connect_to(Worker& worker);
  std::size_t running() const REQUIRES(mutex_);
  NoWorker all_in_use() const;
  void end(Worker& worker) REQUIRES(mutex_);
  bool end_an_idle_one() REQUIRES(mutex_);
  bool ends_when_idle(CellKey key) REQUIRES(mutex_);
  void read_keys();
  Result<void> write_keys() REQUIRES(mutex_) EXCLUDES(file_mutex_);
  void has_ended(const WorkerEnd& end, std::string& owner) REQUIRES(mutex_);
  void hear_of_ends();
  void look_for_idle_ones();
  void ask_suspects() REQUIRES(mutex_);
  void ask_those_that_are_due() REQUIRES(mutex_);
  void kill_those_that_do_not_end() REQUIRES(mutex_);
  void start_wanted() REQUIRES(mutex_);

  Spawner& spawner_;
  const Options options_;
  std::optional<session::FolderClaim> claim_;
  mutable Mutex mutex_;
  Condition changed_;
  std::map<CellKey, Worker> workers_ GUARDED_BY(mutex_);
  std::map<std::string, CellKey> keys_ GUARDED_BY(mutex_);  // of owners' workers
  std::map<CellKey, Suspect> suspects_ GUARDED_BY(mutex_);
  bool is_anything_wanted_ GUARDED_BY(mutex_) = false;
  bool has_new_time_ GUARDED_BY(mutex_) = false;       // at which somebody is looked at
  CellKey last_key_ GUARDED_BY(mutex_) = 0;            // that was given
  std::uint64_t keys_version_ GUARDED_BY(mutex_) = 0;  // what the file of keys is to have
  Mutex file_mutex_;                                   // taken without the other one
  std::uint64_t written_version_ GUARDED_BY(file_mutex_) = 0;
  std::uint64_t questions_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool lost_ GUARDED_BY(mutex_) = false;
  std::thread ends_;
  std::thread idlers_;
};

}  // namespace cloche::cluster
