// SPDX-License-Identifier: Apache-2.0
#include "cluster/hop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/trace_context.h"

namespace cloche::cluster {
namespace {

constexpr std::string_view trace_field = "traceparent";
constexpr unsigned hops_max = 3;
constexpr unsigned timed_hops_max = 32;

bool is_of_connection(std::string_view name) {
  static constexpr std::array<std::string_view, 12> names{
      "Connection", "Keep-Alive", "Proxy-Connection", "TE",
      "Trailer",    "Upgrade",    "Content-Length",   "Transfer-Encoding",
      "Expect",     hop_field,    hops_field,         patience_field};
  return std::ranges::any_of(names,
                             [&](std::string_view each) { return http::same_text(each, name); });
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc() || end != text.data() + text.size() ? std::nullopt
                                                                  : std::optional(number);
}

// The request's line and its fields, but for those of the connection.
std::string head_text(const http::Request& request, std::string_view target) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", request.method, target);
  const TraceContext* trace = current_trace();
  for (const auto& [name, value] : request.fields) {
    if (is_of_connection(name) || (trace && http::same_text(name, trace_field))) continue;
    text += fmt::format("{}: {}\r\n", name, value);
  }
  // What is done there is a part of what is done here.
  if (trace) text += fmt::format("{}: {}\r\n", trace_field, traceparent_text(*trace));
  return text;
}

std::string end_text(const http::Request& request) {
  if (request.method == "CONNECT") return "\r\n";
  return fmt::format("Content-Length: {}\r\nConnection: close\r\n\r\n", request.body.size()) +
         request.body;
}

// How often it has been passed on, as it says; too often where that is no number.
unsigned hops_of(const http::Request& request) {
  const std::string_view text = request.field(hops_field);
  if (request.field(hop_field).empty() || text.empty()) return 0;
  return number_in<unsigned>(text).value_or(timed_hops_max);
}

}  // namespace

std::string hop_text(const http::Request& request, std::string_view target,
                     std::string_view peer_token,
                     std::optional<std::chrono::milliseconds> patience) {
  std::string text = head_text(request, target) +
                     fmt::format("{}: {}\r\n{}: {}\r\n", hop_field, peer_token, hops_field,
                                 std::min(hops_of(request), timed_hops_max) + 1);
  if (patience) text += fmt::format("{}: {}\r\n", patience_field, patience->count());
  return text + end_text(request);
}

bool may_hop_on(const http::Request& request) {
  return hops_of(request) < (patience_of(request) ? timed_hops_max : hops_max);
}

bool has_plain_path(const http::Request& request) {
  const std::string_view target = request.target;
  const std::string_view path = target.substr(0, target.find_first_of("?#"));
  if (path.find_first_of(".%\\") == path.npos) return true;
  // Some take a backslash for a slash, and an escape for what it says.
  std::string read = "/";
  for (std::size_t at = 0; at < path.size(); ++at) {
    const std::string_view escape = path.substr(at, 3);
    const bool is_slash =
        path[at] == '\\' || http::same_text(escape, "%2f") || http::same_text(escape, "%5c");
    const bool is_dot = http::same_text(escape, "%2e");
    read += is_slash ? '/' : is_dot ? '.' : path[at];
    if (path[at] == '%' && (is_slash || is_dot)) at += 2;
  }
  read += '/';
  return read.find("/./") == read.npos && read.find("/../") == read.npos;
}

std::optional<std::chrono::milliseconds> patience_of(const http::Request& request) {
  const auto ms = number_in<std::uint32_t>(request.field(patience_field));
  return ms ? std::optional(std::chrono::milliseconds(*ms)) : std::nullopt;
}

std::string worker_text(const http::Request& request) {
  std::string text = head_text(request, request.target);
  if (request.field("Host").empty()) text += "Host: localhost\r\n";  // of HTTP/1.0
  const bool is_web_socket =
      request.method == "GET" && http::same_text(request.field("Upgrade"), "websocket");
  // Where it becomes none the connection ends with the answer: what came after it was read by nobody
  // who asks for a token.
  return text + (is_web_socket ? "Connection: close, Upgrade\r\nUpgrade: websocket\r\n\r\n"
                               : end_text(request));
}

}  // namespace cloche::cluster
