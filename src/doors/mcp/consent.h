// SPDX-License-Identifier: Apache-2.0
// Consent: the user is asked before something is opened that the operator has not opened.
#pragma once

#include <string>

#include "doors/mcp/tool.h"

namespace cloche::mcp {

// Modern: the client is to ask the user, and to call again. It becomes the result.
struct InputRequired {
  Reply result;
};

// Asks whether these rules of the network may be opened, in `sandbox`. Returns when the user
// agrees; throws ToolError when not, or nobody can be asked; InputRequired.
void ask_consent(Call& call, const std::vector<std::string>& rules, const std::string& sandbox,
                 const std::string& reason);

}  // namespace cloche::mcp
