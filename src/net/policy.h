// SPDX-License-Identifier: Apache-2.0
// Policy: which part of the network a sandbox may reach. Immutable; thread-safe.
//
// Denials are judged first, and read as widely as they can be (Rule::denies_address), so that no
// rule that allows opens what one denies. A denial of a name holds for connections that the name
// led to; who may connect to an address by a rule on addresses needs no name.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/network.h"
#include "net/rule.h"

namespace cloche::net {

struct Verdict {
  bool allowed = false;
  std::string reason;  // the rule, or one sentence that says why not
  // Where a name led to this address: the one that was allowed.
  std::string host;
};

class Policy {
 public:
  // Throws Error with one sentence for a rule that is none.
  explicit Policy(const NetworkOptions& options);

  // Whether a name may be resolved at all: some rule has it, and denials leave it a port.
  Verdict judge_name(std::string_view canonical) const;
  // Whether this address may be connected to. `names`: those that were resolved to it for this
  // sandbox.
  Verdict judge(const kernel::IpAddress& address, std::uint16_t port,
                const std::set<std::string>& names) const;

 private:
  bool leaves_a_port(const Rule& allowed, std::string_view name) const;
  // Null: the address itself is not denied.
  const Rule* denial_of(const kernel::IpAddress& address, std::uint16_t port) const;

  std::vector<Rule> allow_;
  std::vector<Rule> deny_;
};

}  // namespace cloche::net
