// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/server_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "doors/http/field_words.h"

namespace cloche::e2b {
namespace {

// Of one hop, of the framing that is made anew, or for this door.
constexpr std::array<std::string_view, 14> left_out{"Connection",
                                                    "Keep-Alive",
                                                    "Proxy-Connection",
                                                    "Proxy-Authorization",
                                                    "TE",
                                                    "Trailer",
                                                    "Transfer-Encoding",
                                                    "Content-Length",
                                                    "Upgrade",
                                                    "Expect",
                                                    "HTTP2-Settings",
                                                    "E2b-Sandbox-Id",
                                                    "E2b-Sandbox-Port",
                                                    "E2B-Traffic-Access-Token"};

bool is_left_out(std::string_view name) {
  return std::ranges::any_of(left_out,
                             [&](std::string_view each) { return http::same_text(each, name); });
}

}  // namespace

std::optional<ServerRequest> request_for_server(const http::Request& request) {
  if (!request.target.starts_with('/') && request.target != "*") return std::nullopt;
  ServerRequest made;
  made.asks_for_web_socket = request.method == "GET" && request.body.empty() &&
                             http::same_text(request.field("Upgrade"), "websocket") &&
                             http::has_word(request.fields, "Connection", "upgrade");
  made.text = fmt::format("{} {} HTTP/1.1\r\n", request.method, request.target);
  for (const auto& [name, value] : request.fields) {
    if (!is_left_out(name) && !http::has_word(request.fields, "Connection", name))
      made.text += fmt::format("{}: {}\r\n", name, value);
  }
  const bool has_body = !request.body.empty() || !request.field("Content-Length").empty() ||
                        !request.field("Transfer-Encoding").empty();
  if (has_body) made.text += fmt::format("Content-Length: {}\r\n", request.body.size());
  made.text += made.asks_for_web_socket ? "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                                        : "Connection: close\r\n\r\n";
  made.text += request.body;
  return made;
}

}  // namespace cloche::e2b
