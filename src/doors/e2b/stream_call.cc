// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/stream_call.h"

#include <charconv>
#include <string_view>

namespace cloche::e2b {
namespace {

constexpr std::chrono::seconds usual_silence{90};
constexpr std::int64_t silence_max_s = 3600;
constexpr std::int64_t time_limit_max_ms = 30LL * 24 * 60 * 60 * 1000;  // longer: none

// 0 where there is none.
std::int64_t number_field(const http::Request& request, std::string_view name) {
  const std::string_view text = request.field(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

}  // namespace

CallResult<Json> only_message(const http::Request& request) {
  CLOCHE_CALL(const auto messages, read_frames(request.body));
  if (messages.size() != 1)
    return CallError{"invalid_argument", "the stream must have one message"};
  return read_message(messages.front());
}

std::chrono::seconds silence_of(const http::Request& request) {
  const std::int64_t seconds = number_field(request, "Keepalive-Ping-Interval");
  if (seconds == 0 || seconds > silence_max_s) return usual_silence;
  return std::chrono::seconds(seconds);
}

std::optional<std::chrono::milliseconds> time_limit_of(const http::Request& request) {
  const std::int64_t ms = number_field(request, "Connect-Timeout-Ms");
  if (ms == 0 || ms > time_limit_max_ms) return std::nullopt;
  return std::chrono::milliseconds(ms);
}

void refuse_stream(const Call& call, const CallError& error) {
  call.exchange->send({200, {{"Content-Type", std::string(stream_type)}}, end_frame(error)});
}

}  // namespace cloche::e2b
