// SPDX-License-Identifier: Apache-2.0
// ConnectionTable: the connections of a server: how many there may be, and who leaves when there
// are too many, so that silent ones shut nobody out.
//
// Thread-safe. To add a connection costs no search, but where the table, or a peer's share of it,
// is full: then the connections are looked through once for many that leave together.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "doors/http/connection.h"

namespace cloche::http {

class ConnectionTable {
 public:
  // One peer holds three quarters at most.
  explicit ConnectionTable(std::size_t limit);

  using Connections = std::vector<std::shared_ptr<Connection>>;
  struct Verdict {
    bool taken = false;
    Connections leaving;  // to be ended: others have more need of their place
  };
  // Adds the connection where there is room, or room can be made.
  Verdict add(const std::shared_ptr<Connection>& connection);
  // Those that leave where the host has no more descriptors.
  Connections shed();
  void remove(Connection* connection);

  std::size_t size() const;
  Connections all() const;
  // False where there still are some after `patience`.
  bool wait_until_empty(std::chrono::milliseconds patience) const;

 private:
  struct Entry {
    std::weak_ptr<Connection> connection;
    bool leaving = false;
  };
  Connections choose(const std::string* only_peer) REQUIRES(mutex_);
  void leave(Entry& entry, const std::string& peer) REQUIRES(mutex_);

  const std::size_t limit_;
  const std::size_t share_;
  mutable Mutex mutex_;
  mutable Condition changed_;
  std::unordered_map<Connection*, Entry> entries_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::size_t> peers_
      GUARDED_BY(mutex_);                       // how many they have that do not leave
  std::size_t staying_ GUARDED_BY(mutex_) = 0;  // of all peers
};

}  // namespace cloche::http
