// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/server_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <unordered_set>

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

std::optional<ServerRequest> request_for_server(const http::Request& request,
                                                std::string_view host) {
  if (!request.target.starts_with('/') && request.target != "*") return std::nullopt;
  ServerRequest made;
  const std::string_view length = request.field("Content-Length");
  std::uint64_t length_bytes = 0;
  const auto [end, error] =
      std::from_chars(length.data(), length.data() + length.size(), length_bytes);
  if (!length.empty() && error != std::errc()) return std::nullopt;
  const bool is_chunked = !request.field("Transfer-Encoding").empty();
  made.body = is_chunked ? http::BodyEnd::of_chunks() : http::BodyEnd::after(length_bytes);
  made.wants_continue =
      !made.body.is_done() && http::same_text(request.field("Expect"), "100-continue");
  made.asks_for_web_socket = request.method == "GET" && made.body.is_done() &&
                             http::same_text(request.field("Upgrade"), "websocket") &&
                             http::has_word(request.fields, "Connection", "upgrade");
  made.text = fmt::format("{} {} HTTP/1.1\r\n", request.method, request.target);
  std::unordered_set<std::string> of_hop;
  for (const std::string_view word : http::field_words(request.fields, "Connection"))
    of_hop.insert(http::lowered(word));
  for (const auto& [name, value] : request.fields) {
    if (is_left_out(name) || of_hop.contains(http::lowered(name))) continue;
    if (http::same_text(name, "Host")) {
      // As proxies write it: not every server compares names as it should.
      made.text += fmt::format("Host: {}\r\n", host.empty() ? value : host);
    } else {
      made.text += fmt::format("{}: {}\r\n", name, value);
    }
  }
  if (is_chunked) {
    made.text += "Transfer-Encoding: chunked\r\n";
  } else if (!length.empty()) {
    made.text += fmt::format("Content-Length: {}\r\n", length_bytes);
  }
  made.text += made.asks_for_web_socket ? "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                                        : "Connection: close\r\n\r\n";
  return made;
}

}  // namespace cloche::e2b
