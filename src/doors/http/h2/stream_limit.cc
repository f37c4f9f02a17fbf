// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/stream_limit.h"

#include <algorithm>
#include <cstdint>

namespace cloche::http {
namespace {

constexpr std::size_t three_quarters(std::size_t of) { return of - of / 4; }

}  // namespace

StreamLimit::StreamLimit(std::size_t limit, std::size_t share) : limit_(limit), share_(share) {}

StreamLimit::StreamLimit(std::size_t limit)
    : StreamLimit(std::max<std::size_t>(limit, 4),
                  three_quarters(std::max<std::size_t>(limit, 4))) {}

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

OwnerLimit::OwnerLimit(std::size_t connections)
    : requests_(SIZE_MAX, three_quarters(three_quarters(std::max<std::size_t>(connections, 4)))) {}

bool OwnerLimit::acquire(const std::string& owner, std::optional<Permit>& permit) {
  permit.reset();
  if (owner.empty()) return true;
  std::optional<Permit> got = requests_.acquire(owner);
  if (got) permit.emplace(*std::move(got));
  return permit.has_value();
}

}  // namespace cloche::http
