// SPDX-License-Identifier: Apache-2.0
// A request that one cell passes on to another.
//
// It has the field X-Cloche-Hop, whose value is the secret of the cells (--peer-token). Whatever
// has the field is passed on no further; with the secret it is believed to come from a peer.
#pragma once

#include <string>
#include <string_view>

#include "doors/http/message.h"

namespace cloche::cluster {

inline constexpr std::string_view hop_field = "X-Cloche-Hop";

// The request as it is sent to a peer: what is about the client's connection is left out.
std::string hop_text(const http::Request& request, std::string_view target,
                     std::string_view peer_token);

// The same for a worker of this server, which is reached by nobody else. A request for a WebSocket
// still asks for one.
std::string worker_text(const http::Request& request);

}  // namespace cloche::cluster
