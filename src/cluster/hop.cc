// SPDX-License-Identifier: Apache-2.0
#include "cluster/hop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cloche::cluster {
namespace {

bool is_of_connection(std::string_view name) {
  static constexpr std::array<std::string_view, 10> names{
      "Connection", "Keep-Alive",     "Proxy-Connection",  "TE",     "Trailer",
      "Upgrade",    "Content-Length", "Transfer-Encoding", "Expect", hop_field};
  return std::ranges::any_of(names,
                             [&](std::string_view each) { return http::same_text(each, name); });
}

}  // namespace

std::string hop_text(const http::Request& request, std::string_view target,
                     std::string_view peer_token) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", request.method, target);
  for (const auto& [name, value] : request.fields) {
    if (!is_of_connection(name)) text += fmt::format("{}: {}\r\n", name, value);
  }
  text += fmt::format("{}: {}\r\n", hop_field, peer_token);
  if (request.method == "CONNECT") return text + "\r\n";
  text += fmt::format("Content-Length: {}\r\nConnection: close\r\n\r\n", request.body.size());
  return text + request.body;
}

}  // namespace cloche::cluster
