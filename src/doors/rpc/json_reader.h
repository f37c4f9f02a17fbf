// JSON from a client, within bounds: depth, number of values, every member name once.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "doors/rpc/protocol.h"

namespace cloche::rpc {

// The value in `text`, or the error to answer with: parse_error for what is not JSON (broken UTF-8
// and numbers that no double holds included), invalid_request for JSON beyond the bounds. An
// integer outside of 64 bits becomes the nearest double. `id` is set to the member of that name of
// an object beyond the bounds, which has to be answered; else to null. Never throws but for want of
// memory.
std::variant<Json, RpcError> read_json(std::string_view text, Json* id = nullptr);

}  // namespace cloche::rpc
