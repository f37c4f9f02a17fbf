// SPDX-License-Identifier: Apache-2.0
#include "doors/http/owner_limit.h"

#include <algorithm>
#include <cstdint>

namespace cloche::http {

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
