// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/stream_places.h"

#include <algorithm>

namespace cloche::http {

StreamPlaces::StreamPlaces(std::size_t limit)
    : limit_(std::max<std::size_t>(limit, 4)), share_(limit_ - limit_ / 4) {}

std::optional<StreamPlaces::Place> StreamPlaces::take(const std::string& peer) {
  const MutexLock lock(mutex_);
  const auto held = peers_.find(peer);
  if (taken_ >= limit_ || (held != peers_.end() && held->second >= share_)) return std::nullopt;
  ++peers_[peer];
  ++taken_;
  return std::make_optional<Place>(*this, peer);
}

void StreamPlaces::leave(const std::string& peer) {
  const MutexLock lock(mutex_);
  const auto held = peers_.find(peer);
  if (--held->second == 0) peers_.erase(held);
  --taken_;
}

std::size_t StreamPlaces::taken() const {
  const MutexLock lock(mutex_);
  return taken_;
}

}  // namespace cloche::http
