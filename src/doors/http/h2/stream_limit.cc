// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/stream_limit.h"

#include <algorithm>

namespace cloche::http {

StreamLimit::StreamLimit(std::size_t limit)
    : limit_(std::max<std::size_t>(limit, 4)), share_(limit_ - limit_ / 4) {}

std::optional<StreamLimit::Permit> StreamLimit::acquire(const std::string& peer) {
  const MutexLock lock(mutex_);
  const auto streams = peers_.find(peer);
  if (held_ >= limit_ || (streams != peers_.end() && streams->second >= share_))
    return std::nullopt;
  ++peers_[peer];
  ++held_;
  return std::make_optional<Permit>(*this, peer);
}

void StreamLimit::release(const std::string& peer) {
  const MutexLock lock(mutex_);
  const auto streams = peers_.find(peer);
  if (--streams->second == 0) peers_.erase(streams);
  --held_;
}

std::size_t StreamLimit::held() const {
  const MutexLock lock(mutex_);
  return held_;
}

}  // namespace cloche::http
