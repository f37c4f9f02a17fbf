// SPDX-License-Identifier: Apache-2.0
#include "net/known_names.h"

namespace cloche::net {

void KnownNames::learn(const kernel::IpAddress& address, const std::string& name) {
  const auto [pair, is_new] = pairs_.try_emplace({address, name}, 0);
  if (!is_new) by_age_.erase(pair->second);
  pair->second = ++last_;
  by_age_.emplace(last_, pair);
  if (!is_new) return;
  bound_names(address);
  if (pairs_.size() > max_pairs) forget(by_age_.begin()->second);
}

void KnownNames::forget(Pairs::iterator pair) {
  by_age_.erase(pair->second);
  pairs_.erase(pair);
}

// After one was added.
void KnownNames::bound_names(const kernel::IpAddress& address) {
  std::size_t count = 0;
  const auto first = pairs_.lower_bound({address, {}});
  auto oldest = first;
  for (auto pair = first; pair != pairs_.end() && pair->first.first == address; ++pair, ++count) {
    if (pair->second < oldest->second) oldest = pair;
  }
  if (count > max_names) forget(oldest);
}

std::set<std::string> KnownNames::of(const kernel::IpAddress& address) const {
  std::set<std::string> names;
  for (auto pair = pairs_.lower_bound({address, {}});
       pair != pairs_.end() && pair->first.first == address; ++pair)
    names.insert(pair->first.second);
  return names;
}

}  // namespace cloche::net
