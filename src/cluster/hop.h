// SPDX-License-Identifier: Apache-2.0
// A request that one cell passes on to another.
//
// It has the field X-Cloche-Hop, whose value is the secret of the cells (--peer-token). With the
// secret it is believed to come from a peer; without, it is passed on no further. A peer may not
// know yet that a key has moved: so a cell that does not have the key passes on what is for it,
// once it has asked all anew who has it. X-Cloche-Hops says how often that has been done, and
// X-Cloche-Patience for how many milliseconds more the key may be looked for.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "doors/http/message.h"

namespace cloche::cluster {

inline constexpr std::string_view hop_field = "X-Cloche-Hop";
inline constexpr std::string_view hops_field = "X-Cloche-Hops";
inline constexpr std::string_view patience_field = "X-Cloche-Patience";

// Whether one that was passed on may be passed on once more: often as long as it says how much time
// it has, which is less each time, and otherwise three times.
bool may_hop_on(const http::Request& request);

// Whether its path means the same to whoever is on the way: not where it has `.` or `..` for a
// name, which a proxy between cells may fold, and with the secret of the cells on it
// `/sessions/ID/../../cell` would be a peer's own request then.
bool has_plain_path(const http::Request& request);

// How long its key may be looked for, where it says so.
std::optional<std::chrono::milliseconds> patience_of(const http::Request& request);

// The request as it is sent to a peer: what is about the client's connection is left out.
// `patience`: how long it may look for the key, where that matters.
std::string hop_text(const http::Request& request, std::string_view target,
                     std::string_view peer_token,
                     std::optional<std::chrono::milliseconds> patience = std::nullopt);

// The same for a worker of this server, which is reached by nobody else. A request for a WebSocket
// still asks for one.
std::string worker_text(const http::Request& request);

}  // namespace cloche::cluster
