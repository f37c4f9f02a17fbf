// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace cloche {
namespace {

TEST(DescriptorChannel, MessagesKeepTheirBordersAndTheirDescriptors) {
  const auto [here, there] = make_channel();
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(::pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  const UniqueFd out(pipe_ends[0]);
  UniqueFd in(pipe_ends[1]);
  const std::string long_text(channel_message_max_bytes, '\0');
  ASSERT_EQ(send_message(here.get(), "first"), 0);
  ASSERT_EQ(send_message(here.get(), long_text, in.get()), 0);
  in.reset();

  auto first = receive_message(there.get());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->text, "first");
  EXPECT_FALSE(first->descriptor);
  auto second = receive_message(there.get());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->text, long_text);
  ASSERT_TRUE(second->descriptor);
  EXPECT_EQ(::fcntl(second->descriptor.get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::write(second->descriptor.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(out.get(), &byte, 1), 1);
}

TEST(DescriptorChannel, TellsThatTheOtherEndHasGone) {
  auto [here, there] = make_channel();
  ASSERT_EQ(send_message(there.get(), "last"), 0);
  there.reset();
  EXPECT_EQ(send_message(here.get(), "x"), EPIPE);
  EXPECT_TRUE(receive_message(here.get()));
  EXPECT_FALSE(receive_message(here.get()));
}

TEST(DescriptorChannel, DoesNotWaitForOneThatDoesNotRead) {
  const auto [here, there] = make_channel();
  int error = 0;
  for (int i = 0; i < 100'000 && error == 0; ++i) error = send_message(here.get(), "x");
  EXPECT_EQ(error, EAGAIN);
}

// Its control data has room for one: the kernel closes the others.
TEST(DescriptorChannel, TakesOneDescriptorOfAMessageAtMost) {
  const auto [here, there] = make_channel();
  const std::array<int, 2> two{0, 1};
  char text = 'x';
  iovec piece{&text, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof two)> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof two);
  std::memcpy(CMSG_DATA(head), two.data(), sizeof two);
  const int next = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
  ::close(next);
  ASSERT_EQ(::sendmsg(here.get(), &message, 0), 1);
  {
    const auto received = receive_message(there.get());
  }
  const int after = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
  ::close(after);
  EXPECT_EQ(after, next);
}

}  // namespace
}  // namespace cloche
