// SPDX-License-Identifier: Apache-2.0
// A connection is at its end for the server when nothing is left of it.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "base/check.h"
#include "base/unique_fd.h"
#include "doors/http/connection.h"
#include "doors/http/h2/client_testing.h"

namespace cloche::http {
namespace {

// The loops may go as soon as the server has been told.
TEST(ConnectionEnd, TheServerIsToldAfterTheSocketHasGone) {
  HostInMemory host;
  Loops loops{1};
  std::array<int, 2> ends{};
  CLOCHE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd client(ends[0]);
  boost::asio::ip::tcp::socket socket(loops[0].context());
  socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
  char byte = 0;
  ssize_t got = 1;
  host.on_ended = [&] { got = ::recv(client.get(), &byte, 1, MSG_DONTWAIT); };
  std::shared_ptr<Connection> connection = make_plain_connection(host, loops[0], std::move(socket));
  EXPECT_EQ(::recv(client.get(), &byte, 1, MSG_DONTWAIT), -1);
  connection.reset();
  EXPECT_EQ(got, 0) << "it is open still";
}

}  // namespace
}  // namespace cloche::http
