// SPDX-License-Identifier: Apache-2.0
#include "doors/http/connection_table.h"

#include <algorithm>

namespace cloche::http {
namespace {

// The share of the places that becomes free when all of them are taken.
constexpr std::size_t leaving_part = 64;

struct Candidate {
  Connection* connection;
  Standing standing;
  std::size_t peer_size;
};

// True when `a` has less need of its place than `b`: it waits for less, its peer has more of the
// kind, it has been so for longer.
bool goes_before(const Candidate& a, const Candidate& b) {
  if (a.standing.stage != b.standing.stage) return a.standing.stage < b.standing.stage;
  if (a.peer_size != b.peer_size) return a.peer_size > b.peer_size;
  return a.standing.since_ns < b.standing.since_ns;
}

}  // namespace

ConnectionTable::ConnectionTable(std::size_t limit)
    : limit_(std::max<std::size_t>(limit, 4)), share_(limit_ - limit_ / 4) {}

ConnectionTable::Verdict ConnectionTable::add(const std::shared_ptr<Connection>& connection) {
  Verdict verdict;
  const MutexLock lock(mutex_);
  const std::string& peer = connection->peer_name();
  std::size_t& held = peers_[peer];
  if (held >= share_) {
    verdict.leaving = choose(&peer);
  } else if (staying_ >= limit_) {
    verdict.leaving = choose(nullptr);
  }
  verdict.taken = held < share_ && staying_ < limit_;
  entries_.emplace(connection.get(), Entry{connection, !verdict.taken});
  if (verdict.taken) {
    ++held;
    ++staying_;
  } else if (held == 0) {
    peers_.erase(peer);
  }
  return verdict;
}

ConnectionTable::Connections ConnectionTable::shed() {
  const MutexLock lock(mutex_);
  return choose(nullptr);
}

// Marks them as leaving.
ConnectionTable::Connections ConnectionTable::choose(const std::string* only_peer) {
  std::vector<Candidate> candidates;
  std::unordered_map<std::string, std::size_t> sizes[Standing::stages];
  for (const auto& [connection, entry] : entries_) {
    if (entry.leaving || (only_peer && connection->peer_name() != *only_peer)) continue;
    const Standing standing = connection->standing();
    if (standing.stage == Standing::Stage::answering) continue;
    ++sizes[static_cast<std::size_t>(standing.stage)][connection->peer_name()];
    candidates.push_back({connection, standing, 0});
  }
  for (Candidate& each : candidates) {
    each.peer_size =
        sizes[static_cast<std::size_t>(each.standing.stage)][each.connection->peer_name()];
  }
  const std::size_t count =
      std::min(candidates.size(), std::max<std::size_t>(limit_ / leaving_part, 1));
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count),
                    candidates.end(), goes_before);
  Connections leaving;
  for (std::size_t i = 0; i < count; ++i) {
    // A connection at another stage than the first one's waits for more: it keeps its place.
    if (candidates[i].standing.stage != candidates[0].standing.stage) break;
    Entry& entry = entries_.at(candidates[i].connection);
    if (auto alive = entry.connection.lock()) leaving.push_back(std::move(alive));
    leave(entry, candidates[i].connection->peer_name());
  }
  return leaving;
}

void ConnectionTable::leave(Entry& entry, const std::string& peer) {
  if (entry.leaving) return;
  entry.leaving = true;
  --staying_;
  const auto held = peers_.find(peer);
  // The peer whose connection is being added keeps its number, which may be 0.
  if (held != peers_.end() && held->second > 0) --held->second;
}

void ConnectionTable::remove(Connection* connection) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(connection);
  if (found == entries_.end()) return;
  const std::string& peer = connection->peer_name();
  leave(found->second, peer);
  entries_.erase(found);
  if (const auto held = peers_.find(peer); held != peers_.end() && held->second == 0)
    peers_.erase(held);
  if (entries_.empty()) changed_.notify_all();
}

std::size_t ConnectionTable::size() const {
  const MutexLock lock(mutex_);
  return staying_;
}

ConnectionTable::Connections ConnectionTable::all() const {
  Connections found;
  const MutexLock lock(mutex_);
  found.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    if (auto alive = entry.connection.lock()) found.push_back(std::move(alive));
  }
  return found;
}

bool ConnectionTable::wait_until_empty(std::chrono::milliseconds patience) const {
  const MutexLock lock(mutex_);
  return changed_.wait_for(mutex_, patience,
                           [this]() REQUIRES(mutex_) { return entries_.empty(); });
}

}  // namespace cloche::http
