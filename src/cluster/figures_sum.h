// SPDX-License-Identifier: Apache-2.0
// FiguresSum: the pages of figures of a server and its workers as one page, for Prometheus. What
// counts never falls when a worker ends: what its last page had stays in the sum. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/cell_key.h"

namespace cloche::cluster {

class FiguresSum {
 public:
  // `own` with the figures of the workers that run added to it, but for those that are the server's
  // own matter: what it answers, limits, and how much room is left.
  std::string page(std::string_view own,
                   const std::vector<std::pair<session::CellKey, std::string>>& workers);
  void worker_ended(session::CellKey key);

 private:
  struct Figure {
    std::string head;  // its lines "# HELP" and "# TYPE"
    bool counts = false;
    std::vector<std::pair<std::string, double>> samples;  // NAME{LABELS}, in their order
    void add(const std::string& name, double value);
  };
  using Figures = std::map<std::string, Figure, std::less<>>;
  static Figures parse(std::string_view page);
  static void add(Figures& sum, const Figures& more, bool only_counts);

  std::mutex mutex_;
  Figures ended_;  // of workers that have
  std::map<session::CellKey, Figures> last_;
};

}  // namespace cloche::cluster
