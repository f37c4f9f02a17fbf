// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/connect_wire.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/base64.h"
#include "base/json_string.h"
#include "cloche/errno.h"

namespace cloche::e2b {
namespace {

constexpr std::size_t frame_head_bytes = 5;
constexpr std::uint8_t flag_compressed = 1;
constexpr std::uint8_t flag_end = 2;
constexpr std::size_t frames_max = 10'000;

constexpr std::array<std::pair<std::string_view, int>, 10> statuses{{
    {"invalid_argument", 400},
    {"unauthenticated", 401},
    {"permission_denied", 403},
    {"not_found", 404},
    {"already_exists", 409},
    {"resource_exhausted", 429},
    {"canceled", 499},
    {"unimplemented", 501},
    {"unavailable", 503},
    {"deadline_exceeded", 504},
}};

int status_of(std::string_view code) {
  for (const auto& [name, status] : statuses) {
    if (name == code) return status;
  }
  return 500;
}

std::string error_text(const CallError& error) {
  return fmt::format(R"({{"code":"{}","message":{}}})", error.code, json_string(error.message));
}

std::string framed(std::uint8_t flags, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string frame;
  frame.reserve(frame_head_bytes + message.size());
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>((size >> shift) & 0xff);
  frame += message;
  return frame;
}

CallError wrong(std::string_view name, std::string_view what) {
  return {"invalid_argument", fmt::format("{} must be {}", name, what)};
}

// lowerCamelCase, as JSON of protocol buffers is written, in the spelling of their definitions.
std::string snake_case(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      text += '_';
      text += static_cast<char>(c - 'A' + 'a');
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

http::Response message_answer(const OrderedJson& message) {
  return http::json_response(200, write_json(message));
}

http::Response error_answer(const CallError& error) {
  return http::json_response(status_of(error.code), error_text(error));
}

std::string frame_of(std::string_view message) { return framed(0, message); }
std::string end_frame() { return framed(flag_end, "{}"); }
std::string end_frame(const CallError& error) {
  return framed(flag_end, fmt::format(R"({{"error":{}}})", error_text(error)));
}

CallResult<std::vector<std::string_view>> read_frames(std::string_view body) {
  std::vector<std::string_view> messages;
  while (!body.empty()) {
    if (body.size() < frame_head_bytes)
      return CallError{"invalid_argument", "the stream ends within the head of a message"};
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(body[at]); };
    const std::uint8_t flags = byte(0);
    const std::uint32_t size = static_cast<std::uint32_t>(byte(1)) << 24 |
                               static_cast<std::uint32_t>(byte(2)) << 16 |
                               static_cast<std::uint32_t>(byte(3)) << 8 | byte(4);
    body.remove_prefix(frame_head_bytes);
    if ((flags & flag_compressed) != 0)
      return CallError{"unimplemented", "messages must not be compressed"};
    if (size > body.size())
      return CallError{"invalid_argument", "the stream ends within a message"};
    if ((flags & flag_end) != 0) break;
    if (messages.size() == frames_max)
      return CallError{"resource_exhausted", "the stream has too many messages"};
    messages.push_back(body.substr(0, size));
    body.remove_prefix(size);
  }
  return messages;
}

CallResult<Json> read_message(std::string_view text) {
  if (text.empty()) return Json::object();
  auto read = read_json<Json>(text, {.repeated = RepeatedNames::last_wins});
  if (auto* problem = std::get_if<JsonProblem>(&read))
    return CallError{"invalid_argument", "the message is not JSON: " + problem->sentence};
  Json message = std::get<Json>(std::move(read));
  if (!message.is_object()) return CallError{"invalid_argument", "the message must be an object"};
  return message;
}

const Json* member(const Json& message, std::string_view name) {
  auto found = message.find(std::string(name));
  if (found == message.end()) found = message.find(snake_case(name));
  return found == message.end() || found->is_null() ? nullptr : &*found;
}

CallResult<std::string> text_at(const Json& message, std::string_view name) {
  const Json* value = member(message, name);
  if (!value) return std::string();
  if (!value->is_string()) return wrong(name, "a string");
  if (value->get_ref<const std::string&>().find('\0') != std::string::npos)
    return wrong(name, "without a NUL");
  return value->get<std::string>();
}

CallResult<std::int64_t> number_at(const Json& message, std::string_view name) {
  const Json* value = member(message, name);
  if (!value) return std::int64_t{0};
  if (value->is_number_unsigned() &&
      value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return wrong(name, "a whole number");
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
  }
  return wrong(name, "a whole number");
}

CallResult<std::string> bytes_at(const Json& message, std::string_view name) {
  const Json* value = member(message, name);
  if (!value) return std::string();
  std::optional<std::string> bytes;
  if (value->is_string()) bytes = from_base64(value->get_ref<const std::string&>());
  if (!bytes) return wrong(name, "bytes in base64");
  return *std::move(bytes);
}

CallResult<bool> truth_at(const Json& message, std::string_view name, bool otherwise) {
  const Json* value = member(message, name);
  if (!value) return otherwise;
  if (!value->is_boolean()) return wrong(name, "true or false");
  return value->get<bool>();
}

CallError file_error(Errno error, std::string_view path) {
  // It was paused or ended meanwhile, and what was done is not in it.
  if (error == Errno::canceled) return {"unavailable", std::string(sandbox_not_found)};
  const std::string_view code =
      error == Errno::noent                                                   ? "not_found"
      : error == Errno::exist                                                 ? "already_exists"
      : error == Errno::acces || error == Errno::perm || error == Errno::rofs ? "permission_denied"
      : error == Errno::nospc || error == Errno::dquot || error == Errno::fbig
          ? "resource_exhausted"
      : error == Errno::io ? "internal"
                           : "invalid_argument";
  return {code, fmt::format("path '{}': {}", path, errno_info(error).message)};
}

}  // namespace cloche::e2b
