// SPDX-License-Identifier: Apache-2.0
// KnownNames: which names led a sandbox to which addresses: what a policy that is written in names
// judges a connection by. A guest asks for as many names as it likes, so both are bounded: an
// address beyond the limit is not learnt, and of too many names of one address the latest stay.
// Not synchronized.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "kernel/sockets/address.h"

namespace cloche::net {

class KnownNames {
 public:
  static constexpr std::size_t max_addresses = 4096;
  static constexpr std::size_t max_names = 64;  // of one address

  void learn(const kernel::IpAddress& address, const std::string& name);
  std::set<std::string> of(const kernel::IpAddress& address) const;

 private:
  std::map<kernel::IpAddress, std::deque<std::string>> names_;  // the latest last
};

}  // namespace cloche::net
