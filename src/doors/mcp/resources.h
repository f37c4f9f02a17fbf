// SPDX-License-Identifier: Apache-2.0
// Files of sandboxes as resources: sandbox://NAME/PATH.
#pragma once

#include "doors/mcp/peer.h"

namespace cloche::mcp {

Reply resource_templates();
// A page: each sandbox's working folder and the files in it. `cursor` is what the page before gave;
// empty: the first. Throws ProtocolError.
Reply list_resources(const Scope& scope, std::string_view cursor);
// Throws ProtocolError: no_such_resource, as that era says it.
Reply read_resource(const Scope& scope, Era era, std::string_view uri);

// Legacy: resources/subscribe and its opposite, which are answered at once.
Reply subscribe(Request& request, Peer& peer);
Reply unsubscribe(Request& request, Peer& peer);
// Modern: goes on until the request is cancelled.
void listen(const std::shared_ptr<Request>& request, Peer& peer);

}  // namespace cloche::mcp
