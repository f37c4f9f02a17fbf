// SPDX-License-Identifier: Apache-2.0
#include "doors/http/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "base/check.h"
#include "doors/http/connection.h"
#include "doors/http/h2/client_testing.h"
#include "doors/http/plain_client_testing.h"

namespace cloche::http {
namespace {

TEST(Relay, OfWhatTheHostCannotWatchTheClientGetsTheLastWords) {
  HostInMemory host;
  Loops loops{1};
  host.on_handle = [](const Request&, const std::shared_ptr<Exchange>& exchange) {
    exchange->relay_to(UniqueFd(::open("/", O_PATH | O_CLOEXEC)));
  };
  auto [client, socket] = connected_pair(loops[0]);
  make_plain_connection(host, loops[0], std::move(socket))->start();
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  CLOCHE_CHECK(::send(client.get(), request.data(), request.size(), 0) ==
               static_cast<ssize_t>(request.size()));
  std::array<char, 4096> answer{};
  ssize_t got = -1;
  while (got < 0) {
    loops[0].context().run_one();
    got = ::recv(client.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  }
  EXPECT_TRUE(
      std::string_view(answer.data(), static_cast<std::size_t>(got)).starts_with("HTTP/1.1 502 "));
}

}  // namespace
}  // namespace cloche::http
