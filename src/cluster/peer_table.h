// SPDX-License-Identifier: Apache-2.0
// PeerTable: which cells there are besides this one, where, and how much room they have: what they
// said half a second ago. Thread-safe; one thread asks them all, at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cluster/address.h"
#include "cluster/peer_wire.h"
#include "session/cell_key.h"

namespace cloche::cluster {

using session::CellKey;

// What a cell says of itself, to peers that know the token: GET /cell.
struct CellReport {
  CellKey key = 0;            // its own
  std::vector<CellKey> keys;  // whose sessions it has
  std::size_t sessions = 0;
  bool ready = false;      // may be given new sessions
  double headroom = 0;     // Room::headroom
  std::uint64_t rank = 0;  // the largest number of one that it knows (session/places.h)
  std::string version;
};
std::string to_json(const CellReport& report);
std::optional<CellReport> report_of_json(std::string_view json);

struct Peer {
  Address address;
  CellReport report;
  bool answers = false;                                 // did it, when it was asked last
  std::chrono::steady_clock::time_point asked = {};     // when it was, for what it says here
  std::chrono::steady_clock::time_point answered = {};  // when it did
  bool has_keys = false;                                // which nobody else has taken since
};

class PeerTable {
 public:
  struct Options {
    PeerSource source;
    CellKey self = 0;
    std::string token;
    const PeerWire& wire;  // outlives it
    std::chrono::milliseconds interval{500};
    // Told what each cell says, before it is in the table.
    std::function<void(const CellReport& report)> heard = {};
  };
  // Asks from now on; has asked once when it is made.
  explicit PeerTable(Options options);
  ~PeerTable();
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;

  // The cell that has that key, or had it last, where there is one.
  std::optional<Peer> find(CellKey key) const;
  // Has all asked soon, not only when their time has come: somebody waits for what is new.
  void look_again() const;
  // A number that grows whenever they have been asked, and by wake().
  std::uint64_t news() const;
  // Waits until there is more than that, or until then.
  void wait_for_news(std::uint64_t known, std::chrono::steady_clock::time_point until) const;
  // Something else has happened for which somebody may wait here.
  void wake() const;
  // All that exist, or have existed.
  std::vector<Peer> all() const;
  // Whether all addresses were those of cells, when they were asked last, or of one that is known.
  bool is_complete() const;

 private:
  void ask();
  void work();

  const Options options_;
  mutable Mutex mutex_;
  mutable Condition changed_;                            // for who asks
  mutable Condition told_;                               // for who waits for news
  std::map<CellKey, Peer> peers_ GUARDED_BY(mutex_);     // by their own keys
  std::map<CellKey, CellKey> homes_ GUARDED_BY(mutex_);  // who has a key, by its own
  bool is_complete_ GUARDED_BY(mutex_) = false;
  mutable std::uint64_t news_ GUARDED_BY(mutex_) = 0;
  mutable bool is_wanted_ GUARDED_BY(mutex_) = false;  // by look_again
  bool closing_ GUARDED_BY(mutex_) = false;
  std::thread worker_;
};

}  // namespace cloche::cluster
