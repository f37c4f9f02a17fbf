// SPDX-License-Identifier: Apache-2.0
// The methods of the protocol.
#pragma once

#include <memory>

#include "doors/mcp/peer.h"

namespace cloche::mcp {

// Answers the request, now or from another thread. Throws ProtocolError. Does not wait for a
// sandbox.
void serve_method(const std::shared_ptr<Request>& request, Peer& peer);

// tools/call.
void call_tool(const std::shared_ptr<Request>& request, Peer& peer);

}  // namespace cloche::mcp
