// SPDX-License-Identifier: Apache-2.0
#include "doors/http/unsent_bytes.h"

#include <algorithm>

namespace cloche::http {

std::vector<std::shared_ptr<AnswerKeeper>> UnsentBytes::keep(
    const std::shared_ptr<AnswerKeeper>& keeper, const std::string& owner, std::uint64_t bytes) {
  std::vector<std::shared_ptr<AnswerKeeper>> leaving;
  const MutexLock lock(mutex_);
  if (const auto before = kept_.find(keeper.get()); before != kept_.end()) forget(before);
  bytes = std::max<std::uint64_t>(bytes, 1);
  kept_.emplace(keeper.get(), Kept{keeper, owner, bytes});
  owners_[owner] += bytes;
  bytes_ += bytes;
  const auto owned = [&]() REQUIRES(mutex_) {
    const auto found = owners_.find(owner);
    return found == owners_.end() ? 0 : found->second;
  };
  while (owned() > owner_limit_) {
    if (auto dropped = drop_longest(&owner)) leaving.push_back(std::move(dropped));
  }
  // Of all owners: of the one that keeps the most.
  while (bytes_ > limit_) {
    auto most = owners_.begin();
    for (auto each = owners_.begin(); each != owners_.end(); ++each) {
      if (each->second > most->second) most = each;
    }
    const std::string its_name = most->first;
    if (auto dropped = drop_longest(&its_name)) leaving.push_back(std::move(dropped));
  }
  return leaving;
}

void UnsentBytes::forget(std::unordered_map<AnswerKeeper*, Kept>::iterator kept) {
  const auto owner = owners_.find(kept->second.owner);
  owner->second -= kept->second.bytes;
  if (owner->second == 0) owners_.erase(owner);
  bytes_ -= kept->second.bytes;
  kept_.erase(kept);
}

// Forgets the one of that owner whose client has read nothing for the longest time.
std::shared_ptr<AnswerKeeper> UnsentBytes::drop_longest(const std::string* owner) {
  auto longest = kept_.end();
  std::int64_t since_ns = INT64_MAX;
  for (auto each = kept_.begin(); each != kept_.end(); ++each) {
    const std::int64_t its_ns = each->first->standing().since_ns;
    if (each->second.owner != *owner || its_ns >= since_ns) continue;
    longest = each;
    since_ns = its_ns;
  }
  if (longest == kept_.end()) return nullptr;
  std::shared_ptr<AnswerKeeper> keeper = longest->second.keeper.lock();
  forget(longest);
  return keeper;
}

void UnsentBytes::release(AnswerKeeper* keeper) {
  const MutexLock lock(mutex_);
  if (const auto kept = kept_.find(keeper); kept != kept_.end()) forget(kept);
}

std::uint64_t UnsentBytes::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace cloche::http
