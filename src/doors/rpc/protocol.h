// SPDX-License-Identifier: Apache-2.0
// The vocabulary of the JSON-RPC door: values, errors, and the limits that hold for every request.
//
// The wire is JSON-RPC 2.0, one object a line, UTF-8. docs/rpc.md lists the methods.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "cloche/result.h"

namespace cloche::rpc {

// What comes in: members by name, each name once.
using cloche::Json;
// What goes out: members in the order in which they were put.
using Reply = OrderedJson;

// A request on one line has at most so many bytes: a file of the usual quota in base64, and some.
inline constexpr std::size_t line_limit_bytes = std::size_t{384} << 20;
inline constexpr std::size_t depth_limit = 64;
inline constexpr std::size_t value_limit = 1'000'000;
// The most that one answer carries of a file or an archive; larger ones go in parts.
inline constexpr std::uint64_t payload_limit_bytes = std::uint64_t{256} << 20;
inline constexpr std::size_t sandbox_limit = 4096;
inline constexpr std::size_t snapshot_limit = 64;   // of a sandbox
inline constexpr std::size_t queue_limit = 10'000;  // requests that wait for a sandbox
// What the requests of a connection have that are not answered yet, beyond the first of them.
inline constexpr std::size_t queue_limit_bytes = std::size_t{512} << 20;
inline constexpr std::size_t history_limit = 1'000;  // commands that a sandbox remembers
inline constexpr std::size_t history_limit_bytes = std::size_t{16} << 20;
// Names and values together: no program could be started with more.
inline constexpr std::size_t environment_limit_bytes = std::size_t{2} << 20;

namespace code {
inline constexpr int parse_error = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int no_such_method = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int sandbox_error = 1;  // the message starts with the errno's name
}  // namespace code

// The error of a response. Whatever serves a request throws one for what is wrong with the request
// as such, and an Error for everything else.
struct RpcError {
  int code;
  std::string message;
  // What clients tell it by where the errno does not say it all: `data.code` of the error; empty:
  // there is none. See docs/rpc.md.
  std::string_view reason = {};
};
namespace reason {
// The client's sandbox is not there (any more): none is known to the connection by that name, or
// the session that it was has ended.
inline constexpr std::string_view no_sandbox = "SANDBOX_NOT_FOUND";
inline constexpr std::string_view no_session = "SESSION_NOT_FOUND";
}  // namespace reason

// Its message starts with the errno's name: "ENOENT: No such file or directory: /tmp/x".
RpcError rpc_error(const Error& error);
inline RpcError sandbox_error(Errno code, std::string_view about) {
  return rpc_error(Error(code, about));
}

// The value of a result; throws its Error.
template <typename T>
T must(Result<T> result, std::string_view about) {
  if (!result) throw Error(result.error(), about);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}
template <typename T>
T must(Result<T, Error> result) {
  if (!result) throw Error(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// One line, without its end. Bytes that are not UTF-8 become replacement characters.
std::string response(const Reply& id, Reply result);
std::string error_response(const Reply& id, const RpcError& error);
// From the server: with an id a request, without one a notification.
std::string server_message(std::string_view method, Reply params, std::string_view id = {});

}  // namespace cloche::rpc
