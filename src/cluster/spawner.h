// SPDX-License-Identifier: Apache-2.0
// Spawner: a small process that starts the workers of a server, and ends them.
//
// The server itself starts nothing: its jail does not let it. The spawner is forked off before
// that, while there is one thread, and knows nothing of clients and guests: it is told keys and
// owners over a channel, forks, and says which worker has ended. When the server goes, however, it
// ends them all and then itself; when it goes, so do they. It kills a worker that has more memory
// than a worker may.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "session/cell_key.h"

namespace cloche::cluster {

using session::CellKey;

inline constexpr std::size_t owner_max_bytes = 1024;

// What a worker is told: who it is, and the channel by which the server reaches it.
struct WorkerTask {
  CellKey key = 0;
  std::string owner;
  UniqueFd channel;
};

struct WorkerEnd {
  CellKey key = 0;
  int status = 0;  // as of waitpid
  bool over_memory = false;
  // "exit status 1", "killed by signal 9", "it had more memory than a worker may have".
  std::string reason() const;
  bool is_crash() const { return status != 0; }
};

class Spawner {
 public:
  struct Options {
    std::uint64_t memory_limit_bytes = 0;   // that a worker may have resident; 0: any
    std::chrono::milliseconds grace{5000};  // for workers, when all must end
    sigset_t signals{};                     // the mask that workers begin with
  };
  // What a worker does, in a process of its own; returns its exit status.
  using Body = std::function<int(WorkerTask task)>;

  // Forks: only while there is one thread. Throws HostError.
  Spawner(const Options& options, const Body& body);
  ~Spawner();  // stop(), and waits until it is done
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Has a worker started; the channel to it. Whether that has worked its end says. Throws HostError
  // where it cannot be asked for. Thread-safe.
  UniqueFd start(CellKey key, const std::string& owner);
  // Ends one that hears nothing. Thread-safe.
  void kill(CellKey key);
  // Waits for the next end of a worker. Nothing: the spawner has gone, as have all workers.
  std::optional<WorkerEnd> wait();
  // From now on workers end, and none is started. Thread-safe.
  void stop();

 private:
  UniqueFd channel_;
  pid_t process_ = -1;
};

}  // namespace cloche::cluster
