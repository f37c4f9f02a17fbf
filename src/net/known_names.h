// SPDX-License-Identifier: Apache-2.0
// KnownNames: which names led a sandbox to which addresses: what a policy that is written in names
// judges a connection by. A guest asks for as many names as it likes, which lead to as many
// addresses as their servers like, so the pairs are bounded, of one address and in all: those that
// were learnt last stay. Not synchronized.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kernel/sockets/address.h"

namespace cloche::net {

class KnownNames {
 public:
  static constexpr std::size_t max_pairs = 8192;
  static constexpr std::size_t max_names = 64;  // of one address

  void learn(const kernel::IpAddress& address, const std::string& name);
  std::set<std::string> of(const kernel::IpAddress& address) const;

 private:
  using Pairs = std::map<std::pair<kernel::IpAddress, std::string>, std::uint64_t>;  // and when
  void forget(Pairs::iterator pair);
  void bound_names(const kernel::IpAddress& address);

  Pairs pairs_;
  std::map<std::uint64_t, Pairs::iterator> by_age_;  // the latest last
  std::uint64_t last_ = 0;
};

}  // namespace cloche::net
