// SPDX-License-Identifier: Apache-2.0
// What a model is told of the server before it calls a tool.
#pragma once

#include <string>

#include "doors/mcp/hub.h"

namespace cloche::mcp {

// Fewer than 1,500 characters.
std::string instructions(const HubOptions& options);

}  // namespace cloche::mcp
