// SPDX-License-Identifier: Apache-2.0
#include "doors/http/response_head.h"

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>
#include <string_view>

#include "doors/http/date.h"

namespace cloche::http {
namespace {

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace

std::string response_head(const Response& response, const Fields& more, const HeadFacts& facts) {
  namespace bhttp = boost::beast::http;
  const auto reason = bhttp::obsolete_reason(static_cast<bhttp::status>(response.status));
  fmt::memory_buffer head;
  const auto out = std::back_inserter(head);
  fmt::format_to(out, "HTTP/1.{} {} {}\r\n", facts.version >= 11 ? 1 : 0, response.status,
                 std::string_view(reason.data(), reason.size()));
  for (const Fields* fields : {&response.fields, &more}) {
    for (const auto& [name, value] : *fields) {
      if (is_one_line(name) && is_one_line(value)) fmt::format_to(out, "{}: {}\r\n", name, value);
    }
  }
  fmt::format_to(out, "Server: cloche\r\nDate: {}\r\n",
                 http_date(std::chrono::system_clock::now()));
  const bool keep = facts.persistence == Persistence::keep_alive;
  if (keep != (facts.version >= 11))
    fmt::format_to(out, "Connection: {}\r\n", keep ? "keep-alive" : "close");
  if (facts.content_length) fmt::format_to(out, "Content-Length: {}\r\n", *facts.content_length);
  if (facts.chunked) fmt::format_to(out, "Transfer-Encoding: chunked\r\n");
  fmt::format_to(out, "\r\n");
  return fmt::to_string(head);
}

}  // namespace cloche::http
