// SPDX-License-Identifier: Apache-2.0
// MetricsSum: the pages of metrics of a server and its workers as one page, for Prometheus. What
// counts never falls when a worker ends: what its last page had stays in the sum. A worker may be
// in hostile hands: how many names there are, and how long, is bounded, for one page, for all that
// have ended, and of these for those of one owner, who has no room of another. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "session/cell_key.h"

namespace cloche::cluster {

class MetricsSum {
 public:
  // `own` with the metrics of the workers that run added to it, but for those that are the server's
  // own matter: what it answers, limits, and how much room is left. The workers were asked when
  // ends() was `asked_at`: the page of one that has ended since then is in the sum already.
  std::string page(std::string_view own,
                   const std::vector<std::pair<session::CellKey, std::string>>& workers,
                   std::uint64_t asked_at = std::numeric_limits<std::uint64_t>::max());
  // How many workers have ended.
  std::uint64_t ends() const;
  // The worker's own page, the last one maybe.
  void worker_said(session::CellKey key, std::string_view page);
  void worker_ended(session::CellKey key, const std::string& owner);

 private:
  static constexpr std::size_t names_max_bytes = 1 << 20;
  static constexpr std::size_t owner_names_max_bytes = names_max_bytes / 16;

  // For names that are not there yet, in bytes, and for those of all besides.
  struct Room {
    std::size_t left = 0;
    Room* of_all = nullptr;
    bool take(std::size_t bytes);
  };
  struct Metric {
    std::string head;  // its lines "# HELP" and "# TYPE"
    bool counts = false;
    std::vector<std::pair<std::string, double>> samples;     // NAME{LABELS}, in their order
    std::map<std::string, std::size_t, std::less<>> places;  // of these
    void add(const std::string& name, double value, Room& room);
  };
  using Metrics = std::map<std::string, Metric, std::less<>>;
  static Metrics parse(std::string_view page);
  static void add(Metrics& sum, const Metrics& more, bool only_counts, Room& room);

  mutable Mutex mutex_;
  std::uint64_t ends_ GUARDED_BY(mutex_) = 0;
  std::map<session::CellKey, std::uint64_t> ended_at_ GUARDED_BY(mutex_);  // the last of that key
  Metrics ended_ GUARDED_BY(mutex_);                                       // of workers that have
  Room ended_room_ GUARDED_BY(mutex_) = {.left = names_max_bytes};
  std::map<std::string, std::size_t> ended_rooms_ GUARDED_BY(mutex_);  // what owners have left
  std::map<session::CellKey, Metrics> last_ GUARDED_BY(mutex_);
};

}  // namespace cloche::cluster
