// SPDX-License-Identifier: Apache-2.0
#include "native/host/guest_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/descriptor_channel.h"

namespace cloche::native {
namespace {

struct Connection {
  UniqueFd one, other;
};

Connection connection() {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  EXPECT_EQ(::bind(listener.get(), address, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), address, &size), 0);
  Connection made;
  made.one.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(made.one.get(), address, size), 0);
  made.other.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return made;
}

TEST(GuestSocket, IsForBytes) {
  Result<Sockets> sockets = make_guest_sockets(SOCK_SEQPACKET);
  ASSERT_TRUE(sockets.ok());
  const int refusal = send_message(sockets->theirs.get(), "x", 0);
  if (refusal == 0) GTEST_SKIP() << "this kernel refuses none";
  EXPECT_EQ(refusal, EPERM);
  ASSERT_EQ(::send(sockets->theirs.get(), "yes", 3, 0), 3);
  std::array<char, 2> two{};
  EXPECT_EQ(receive_bytes(sockets->ours.get(), two.data(), two.size(), MSG_TRUNC), 3);
  EXPECT_EQ(two[1], 'e');
}

// With more to send than anybody reads, and a close that waits for that.
TEST(GuestSocket, DoesNotWaitForWhatComesBeside) {
  Result<Sockets> sockets = make_sockets();
  ASSERT_TRUE(sockets.ok());
  Connection connected = connection();
  const std::vector<char> bytes(1 << 20);
  (void)::fcntl(connected.one.get(), F_SETFL, O_NONBLOCK);
  while (::send(connected.one.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) continue;
  const linger patience{.l_onoff = 1, .l_linger = 30'000};
  ASSERT_EQ(::setsockopt(connected.one.get(), SOL_SOCKET, SO_LINGER, &patience, sizeof patience),
            0);
  ASSERT_EQ(send_message(sockets->theirs.get(), "x", connected.one.get()), 0);
  connected.one.reset();
  char byte = 0;
  EXPECT_EQ(receive_bytes(sockets->ours.get(), &byte, 1, 0), 1);
}

}  // namespace
}  // namespace cloche::native
