// SPDX-License-Identifier: Apache-2.0
// What a client sends: a request, a notification, or the answer to a request of ours; and what a
// request says of its client.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "doors/mcp/protocol.h"

namespace cloche::mcp {

inline constexpr std::size_t message_limit_bytes = std::size_t{64} << 20;

struct Message {
  enum class Kind : std::uint8_t { request, notification, answer };
  Kind kind = Kind::request;
  Json id;             // of a request or an answer: a string or an integer
  std::string method;  // of a request or a notification
  Json params;         // an object, or null
  Json result;         // of an answer; null: it is an error
};

// What is none, with the id to answer to: null where that cannot be told.
struct BadMessage {
  Reply id;
  ProtocolError error;
};

// Never throws but for want of memory.
std::variant<Message, BadMessage> read_message(std::string_view text);

// Who asks, as far as one request tells.
struct Asker {
  Era era = Era::legacy;
  Json capabilities;  // of the client: an object, or null
};

// By params._meta: modern where it has a version, or the method is of that era alone. Throws
// ProtocolError for one that is incomplete, or of a version that we do not speak. `capabilities` is
// left null for the legacy era.
Asker asker_of(const Message& request);

// A member of an object; null where it is no object, or has none of that name.
const Json* member(const Json& object, const char* name);
// The same for a text; empty: there is none.
std::string_view text_member(const Json& object, const char* name);

}  // namespace cloche::mcp
