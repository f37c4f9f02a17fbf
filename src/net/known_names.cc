// SPDX-License-Identifier: Apache-2.0
#include "net/known_names.h"

namespace cloche::net {

void KnownNames::learn(const kernel::IpAddress& address, const std::string& name) {
  if (names_.size() >= max_addresses && !names_.contains(address)) return;
  std::deque<std::string>& names = names_[address];
  std::erase(names, name);
  if (names.size() >= max_names) names.pop_front();
  names.push_back(name);
}

std::set<std::string> KnownNames::of(const kernel::IpAddress& address) const {
  const auto found = names_.find(address);
  if (found == names_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace cloche::net
