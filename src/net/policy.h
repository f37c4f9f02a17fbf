// Policy: what of the network a sandbox may reach. Immutable; thread-safe.
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
  // Throws std::invalid_argument with one sentence for a rule that is none.
  explicit Policy(const NetworkOptions& options);

  // Whether a name may be resolved at all: some rule has it.
  Verdict judge_name(std::string_view canonical) const;
  // Whether this address may be connected to. `names`: those that were resolved to it for this
  // sandbox.
  Verdict judge(const kernel::IpAddress& address, std::uint16_t port,
                const std::set<std::string>& names) const;

 private:
  std::vector<Rule> allow_;
  std::vector<Rule> deny_;
};

}  // namespace cloche::net
