// SPDX-License-Identifier: Apache-2.0
// The client's end of a connection of HTTP/1.1 under test, and what a client of WebSockets sends.
#pragma once

#include <sys/socket.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/unique_fd.h"
#include "doors/http/loops.h"

namespace cloche::http {

struct ConnectedPair {
  UniqueFd client;
  boost::asio::ip::tcp::socket server;  // on the loop
};

inline ConnectedPair connected_pair(Loop& loop) {
  std::array<int, 2> ends{};
  CLOCHE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  boost::asio::ip::tcp::socket server(loop.context());
  server.assign(boost::asio::ip::tcp::v4(), ends[1]);
  return {UniqueFd(ends[0]), std::move(server)};
}

// A frame of RFC 6455, masked by zeros; `head` is its first byte. The length of what has 64 KiB or
// more is not said right.
inline std::string masked_frame(int head, std::string_view payload) {
  constexpr std::size_t short_most = 125;
  constexpr int long_length = 126;
  constexpr int is_masked = 0x80;
  std::string frame{static_cast<char>(head)};
  if (payload.size() <= short_most) {
    frame += static_cast<char>(is_masked | static_cast<int>(payload.size()));
  } else {
    frame += static_cast<char>(is_masked | long_length);
    frame += static_cast<char>(payload.size() >> 8U);
    frame += static_cast<char>(payload.size());
  }
  frame.append(4, '\0');  // the mask
  return frame.append(payload);
}

}  // namespace cloche::http
