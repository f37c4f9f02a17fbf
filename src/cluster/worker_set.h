// SPDX-License-Identifier: Apache-2.0
// WorkerSet: the worker processes of a server with `--isolate`: one for each owner, started when it
// is asked for and ended when it has had nothing to do for a while.
//
// A worker is reached by connections that have no name: a pair of sockets, of which it is given one
// over the channel that it was started with. So nobody else reaches it, and there is no file and no
// secret. A worker has a key, which is in the ids of its sessions and names its folder of states;
// an owner keeps its key, for good where there is a state folder. Thread-safe.
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

class WorkerSet {
 public:
  struct Options {
    std::size_t limit = 64;                  // of workers at a time
    std::chrono::milliseconds idle{60'000};  // one that has nothing for that long ends
    std::string state_folder;                // where owners keep their keys; empty: nowhere
    std::function<void(CellKey key, const std::string& owner)> started;
    std::function<void(const WorkerEnd& end, const std::string& owner)> ended;
    std::function<void()> lost;  // the spawner has gone: nothing can be started any more
  };
  // `spawner` outlives it. Throws HostError where the state folder cannot be used.
  WorkerSet(Spawner& spawner, Options options);
  ~WorkerSet();  // stop()
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;

  // A connection to the owner's worker, which is started where there is none; or why there is none,
  // one sentence. Waits while the one before is ending.
  std::variant<UniqueFd, std::string> connect(const std::string& owner);
  // One to each worker that runs.
  std::vector<std::pair<CellKey, UniqueFd>> connect_all();

  // Whose sessions have that key.
  std::optional<std::string> owner_of(CellKey key) const;
  // The key of an owner that has had a worker.
  std::optional<CellKey> key_of(const std::string& owner) const;
  std::size_t count() const;
  std::size_t limit() const noexcept { return options_.limit; }

  // Workers end, each as it is asked to by a signal; none is started any more. Does not wait.
  void begin_to_end();
  // And waits until all have ended.
  void stop();

 private:
  enum class Stage : std::uint8_t { away, running, ending };
  struct Worker {
    std::string owner;
    Stage stage = Stage::away;
    std::shared_ptr<UniqueFd> channel;  // of one that runs
    std::uint64_t connections = 0;      // that it was given
    bool asked = false;                 // whether it is idle, and has not said yet
    std::chrono::steady_clock::time_point used;
  };

  std::optional<std::string> start(CellKey key) REQUIRES(mutex_);
  std::optional<CellKey> key_for(const std::string& owner) REQUIRES(mutex_);
  static std::variant<UniqueFd, int> connect_to(Worker& worker);
  void end(Worker& worker) REQUIRES(mutex_);
  bool end_an_idle_one() REQUIRES(mutex_);
  bool ends_when_idle(CellKey key) REQUIRES(mutex_);
  void read_keys();
  Result<void> write_keys(CellKey key, const std::string& owner) REQUIRES(mutex_);
  void hear_of_ends();
  void look_for_idle_ones();

  Spawner& spawner_;
  const Options options_;
  std::optional<session::FolderClaim> claim_;
  mutable Mutex mutex_;
  Condition changed_;
  std::map<CellKey, Worker> workers_ GUARDED_BY(mutex_);
  std::map<std::string, CellKey> keys_ GUARDED_BY(mutex_);
  std::uint64_t questions_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool lost_ GUARDED_BY(mutex_) = false;
  std::thread ends_;
  std::thread idlers_;
};

}  // namespace cloche::cluster
