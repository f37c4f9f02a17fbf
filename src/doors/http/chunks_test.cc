// SPDX-License-Identifier: Apache-2.0
// Bodies in chunks, as the parser of the linked Boost reads them.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>
#include <string_view>

namespace cloche::http {
namespace {

namespace bhttp = boost::beast::http;

// The body of a request that comes as `pieces` bytes at a time; what the parser does not take is
// given to it again with what follows.
std::string body_of(std::string_view request, std::size_t piece) {
  bhttp::request_parser<bhttp::string_body> parser;
  parser.eager(true);
  std::string waiting;
  while (!request.empty()) {
    waiting += request.substr(0, piece);
    request.remove_prefix(std::min(piece, request.size()));
    boost::system::error_code error;
    while (!waiting.empty() && !parser.is_done()) {
      const std::size_t taken = parser.put(boost::asio::buffer(waiting), error);
      waiting.erase(0, taken);
      if (error) break;
    }
    if (error && error != bhttp::error::need_more) return error.message();
  }
  return parser.is_done() ? parser.get().body() : "not done";
}

TEST(Chunks, AreReadTheSameHoweverTheyCome) {
  static constexpr std::string_view head =
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string_view chunks :
       {"0\r\n\r\n", "00000\r\n\r\n", "0;a=b\r\n\r\n", "0\r\nTrailer: yes\r\n\r\n"}) {
    const std::string request = std::string(head) + std::string(chunks);
    for (std::size_t piece = 1; piece <= request.size(); ++piece)
      EXPECT_EQ(body_of(request, piece), "") << chunks << piece;
  }
  const std::string request = std::string(head) + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (std::size_t piece = 1; piece <= request.size(); ++piece)
    EXPECT_EQ(body_of(request, piece), "abcde") << piece;
}

}  // namespace
}  // namespace cloche::http
