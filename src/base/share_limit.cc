// SPDX-License-Identifier: Apache-2.0
#include "base/share_limit.h"

#include <algorithm>

namespace cloche {

ShareLimit::ShareLimit(std::size_t limit, std::size_t share) : limit_(limit), share_(share) {}

ShareLimit::ShareLimit(std::size_t limit)
    : ShareLimit(std::max<std::size_t>(limit, 4), three_quarters(std::max<std::size_t>(limit, 4))) {
}

std::optional<ShareLimit::Permit> ShareLimit::acquire(const std::string& who) {
  const MutexLock lock(mutex_);
  const auto share = shares_.find(who);
  if (held_ >= limit_ || (share != shares_.end() && share->second >= share_)) return std::nullopt;
  ++shares_[who];
  ++held_;
  return std::make_optional<Permit>(*this, who);
}

std::optional<ShareLimit::Permit> ShareLimit::acquire() {
  const MutexLock lock(mutex_);
  if (held_ >= limit_) return std::nullopt;
  ++held_;
  return std::make_optional<Permit>(*this, std::nullopt);
}

void ShareLimit::release(const std::optional<std::string>& who) {
  const MutexLock lock(mutex_);
  --held_;
  if (!who) return;
  const auto share = shares_.find(*who);
  if (--share->second == 0) shares_.erase(share);
}

std::size_t ShareLimit::held() const {
  const MutexLock lock(mutex_);
  return held_;
}

}  // namespace cloche
