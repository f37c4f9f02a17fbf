// SPDX-License-Identifier: Apache-2.0
// A connection is at its end for the server when nothing is left of it.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>

#include "doors/http/connection.h"
#include "doors/http/h2/client_testing.h"
#include "doors/http/plain_client_testing.h"

namespace cloche::http {
namespace {

// The loops may go as soon as the server has been told.
TEST(ConnectionEnd, TheServerIsToldAfterTheSocketHasGone) {
  HostInMemory host;
  Loops loops{1};
  ConnectedPair pair = connected_pair(loops[0]);
  const int client = pair.client.get();
  char byte = 0;
  ssize_t got = 1;
  host.on_ended = [&] { got = ::recv(client, &byte, 1, MSG_DONTWAIT); };
  std::shared_ptr<Connection> connection =
      make_plain_connection(host, loops[0], std::move(pair.server));
  EXPECT_EQ(::recv(client, &byte, 1, MSG_DONTWAIT), -1);
  connection.reset();
  EXPECT_EQ(got, 0) << "it is open still";
}

}  // namespace
}  // namespace cloche::http
