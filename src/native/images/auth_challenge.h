// SPDX-License-Identifier: Apache-2.0
// How a server wants to be asked: the header WWW-Authenticate (RFC 9110, section 11.6.1).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::images {

struct AuthChallenge {
  std::string scheme;                             // in lower case: basic, bearer
  std::map<std::string, std::string> parameters;  // names in lower case, values without quotes

  // Empty: there is no such one.
  std::string parameter(const std::string& name) const;
};

// In their order; of a header that makes no sense what is before that. Never throws but for want of
// memory.
std::vector<AuthChallenge> parse_auth_challenges(std::string_view header);

}  // namespace cloche::images
