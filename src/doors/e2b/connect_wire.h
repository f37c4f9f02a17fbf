// SPDX-License-Identifier: Apache-2.0
// The Connect protocol, as far as it does not depend on the service: errors, messages alone, and
// messages in a stream, each with a byte of flags and its length before it. Messages are JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "cloche/errno.h"
#include "doors/http/message.h"

namespace cloche::e2b {

inline constexpr std::string_view stream_type = "application/connect+json";

// An error of a call: one of Connect's codes, such as not_found, and a sentence.
struct CallError {
  std::string_view code;
  std::string message;
};

template <typename T>
using CallResult = std::variant<T, CallError>;

http::Response message_answer(const OrderedJson& message);
http::Response error_answer(const CallError& error);

// A message of a stream.
std::string frame_of(std::string_view message);
// What a stream ends with.
std::string end_frame();
std::string end_frame(const CallError& error);

// The messages of a body that is a stream; invalid_argument where it is none.
CallResult<std::vector<std::string_view>> read_frames(std::string_view body);

// A message, an object.
CallResult<Json> read_message(std::string_view text);

// Members of a message, in the JSON of protocol buffers: names in either spelling, null for absent.
const Json* member(const Json& message, std::string_view name);
CallResult<std::string> text_at(const Json& message, std::string_view name);
CallResult<std::int64_t> number_at(const Json& message, std::string_view name);
CallResult<std::string> bytes_at(const Json& message, std::string_view name);
CallResult<bool> truth_at(const Json& message, std::string_view name, bool otherwise);

// Of a sandbox that has ended or is paused.
inline constexpr std::string_view sandbox_not_found = "The sandbox was not found";

// The error of a call on a path.
CallError file_error(Errno error, std::string_view path);

}  // namespace cloche::e2b

// CLOCHE_CALL(declaration, expression): declares a variable with the value of a CallResult, or
// returns the error from the enclosing function.
#define CLOCHE_CALL_CAT2(a, b) a##b
#define CLOCHE_CALL_CAT(a, b) CLOCHE_CALL_CAT2(a, b)
#define CLOCHE_CALL(declaration, expression) \
  CLOCHE_CALL_IMPL(CLOCHE_CALL_CAT(cloche_call_, __LINE__), declaration, expression)
#define CLOCHE_CALL_IMPL(result, declaration, expression)         \
  auto result = (expression);                                     \
  if (result.index() == 1) return std::get<1>(std::move(result)); \
  declaration = std::get<0>(std::move(result))
