// SPDX-License-Identifier: Apache-2.0
// The vocabulary of the Model Context Protocol: revisions, errors, and messages as they are
// written.
//
// There are two eras. Since 2026-07-28 each request says of itself, in params._meta, which revision
// and what kind of client it is of; nothing is kept from one to the next, and the server asks
// nothing. Before, a handshake says that once, and the server may send requests too. A request is
// judged by itself, so both eras share a connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cloche::mcp {

using cloche::Json;
// What goes out: members in the order in which they were put.
using Reply = OrderedJson;

enum class Era : std::uint8_t { legacy, modern };

inline constexpr std::string_view modern_version = "2026-07-28";
inline constexpr std::string_view newest_legacy_version = "2025-11-25";
// All of them, the newest first.
Reply supported_versions();
bool is_legacy_version(std::string_view version);

// Names in `_meta`.
namespace meta {
inline constexpr const char* version = "io.modelcontextprotocol/protocolVersion";
inline constexpr const char* capabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr const char* server = "io.modelcontextprotocol/serverInfo";
inline constexpr const char* subscription = "io.modelcontextprotocol/subscriptionId";
}  // namespace meta

namespace code {
inline constexpr int parse_error = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int no_such_method = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int internal_error = -32603;
inline constexpr int no_such_resource = -32002;  // legacy; modern: invalid_params
inline constexpr int headers_disagree = -32020;
inline constexpr int unsupported_version = -32022;
}  // namespace code

// Thrown by whatever serves a request; it becomes the error of the response.
struct ProtocolError {
  int code;
  std::string message;
  Reply data = nullptr;
};

// {"name", "version"} of this server.
Reply server_info();

// What of a name or a line that somebody sent an error repeats: a message has room for long ones.
std::string shown(std::string_view text);

// One line, without its end. Bytes that are not UTF-8 become replacement characters.
std::string response(const Reply& id, Reply result);
std::string error_response(const Reply& id, const ProtocolError& error);
std::string notification(std::string_view method, Reply params);
std::string server_request(std::string_view id, std::string_view method, Reply params);

}  // namespace cloche::mcp
