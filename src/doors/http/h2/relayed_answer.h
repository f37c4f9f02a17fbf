// SPDX-License-Identifier: Apache-2.0
// RelayedAnswer: what another process of this server answers by HTTP/1.1, said to a client of
// HTTP/2. It reads no more than that client does. Used on the stream's loop.
#pragma once

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>

#include "base/unique_fd.h"

namespace cloche::http {

class H2Stream;

class RelayedAnswer : public std::enable_shared_from_this<RelayedAnswer> {
 public:
  // `fd`: a stream socket by which the answer comes.
  RelayedAnswer(std::shared_ptr<H2Stream> stream, UniqueFd fd);

  void start();
  void go_on();  // the client has read something
  void close();

 private:
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;
  static constexpr std::size_t piece_bytes = 16 << 10;
  static constexpr std::size_t ahead_bytes = 64 << 10;  // that the client has not read
  static constexpr std::uint32_t head_limit_bytes = 64 << 10;

  void expect_answer();
  void read();
  void take();
  bool take_head();
  bool take_body();
  void end();
  void break_off();

  std::shared_ptr<H2Stream> stream_;  // null: it is over
  boost::asio::local::stream_protocol::socket socket_;
  boost::beast::flat_buffer buffer_{head_limit_bytes + piece_bytes};
  std::optional<Parser> parser_;
  std::array<char, piece_bytes> piece_;
  bool reading_ = false;
  bool has_begun_ = false;
  bool at_end_ = false;  // nothing more comes
};

}  // namespace cloche::http
