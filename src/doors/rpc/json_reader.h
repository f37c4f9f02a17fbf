// SPDX-License-Identifier: Apache-2.0
// JSON from a client, within the door's bounds (base/json.h): what is wrong as the error to answer
// with.
#pragma once

#include <string_view>
#include <variant>

#include "doors/rpc/protocol.h"

namespace cloche::rpc {

// The value in `text`, or parse_error for what is not JSON, invalid_request for JSON beyond the
// bounds. `id` is set to the member of that name of an object beyond the bounds, which has to be
// answered; otherwise to null. Never throws but for want of memory.
std::variant<Json, RpcError> read_json(std::string_view text, Json* id = nullptr);

}  // namespace cloche::rpc
