// SPDX-License-Identifier: Apache-2.0
#include "session/places.h"

#include "base/check.h"

namespace cloche::session {

Rank Places::take(const std::string& owner, std::size_t count) {
  const Rank rank{++last_, cell_};
  if (count > 0) taken_[owner][rank] = count;
  all_ += count;
  return rank;
}

void Places::give_back(const std::string& owner, const Rank& rank, std::size_t count) {
  if (count == 0) return;
  const auto ranks = taken_.find(owner);
  CLOCHE_CHECK(ranks != taken_.end());
  const auto it = ranks->second.find(rank);
  CLOCHE_CHECK(it != ranks->second.end() && it->second >= count);
  all_ -= count;
  it->second -= count;
  if (it->second == 0) ranks->second.erase(it);
  if (ranks->second.empty()) taken_.erase(ranks);
}

std::size_t Places::of(const std::string& owner) const {
  std::size_t sum = 0;
  if (const auto ranks = taken_.find(owner); ranks != taken_.end()) {
    for (const auto& [rank, count] : ranks->second) sum += count;
  }
  return sum;
}

std::size_t Places::before(const std::string& owner, const Rank& asked) {
  hear_of(asked.number);
  std::size_t sum = 0;
  if (const auto ranks = taken_.find(owner); ranks != taken_.end()) {
    for (const auto& [rank, count] : ranks->second) sum += rank < asked ? count : 0;
  }
  return sum;
}

}  // namespace cloche::session
