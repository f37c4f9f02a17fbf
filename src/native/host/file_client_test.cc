// SPDX-License-Identifier: Apache-2.0
#include "native/host/file_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <thread>

#include "native/warden/packet.h"
#include "native/warden/wire.h"

namespace cloche::native {
namespace {

// One that answers a list for as long as somebody hears it, and says nothing.
TEST(FileClient, AListWithoutAnEndIsNone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  UniqueFd own(ends[0]);
  std::thread server([theirs = UniqueFd(ends[1])] {
    constexpr int enough = 100'000;
    const warden::FileAnswer nothing{.last = 0};
    for (int i = 0; i < enough && warden::send_record(theirs.get(), nothing); ++i) continue;
    (void)warden::send_record(theirs.get(), warden::FileAnswer{.last = 1});
  });
  FileClient files([&]() -> Result<UniqueFd> { return std::move(own); });
  const auto entries = files.list("/", 10);
  server.join();
  EXPECT_FALSE(entries);
}

// One that has answered all that will ever be asked, and takes nothing.
TEST(FileClient, AServerThatTakesNoRequestIsGivenUp) {
  constexpr int most_answers = 100'000;
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  UniqueFd own(ends[0]);
  const UniqueFd theirs(ends[1]);
  const int room = 1;  // the least that the kernel gives
  ASSERT_EQ(::setsockopt(own.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
  int answers = 0;
  warden::FileAnswer answer{};
  while (answers < most_answers &&
         ::send(theirs.get(), &answer, sizeof answer, MSG_DONTWAIT) == sizeof answer)
    ++answers;
  int servers = 0;
  FileClient files(
      [&]() -> Result<UniqueFd> {
        if (++servers == 1) return std::move(own);
        return Errno::again;
      },
      std::chrono::milliseconds(20));
  for (int i = 0; i < answers && servers < 2; ++i) (void)files.stat("/f");
  EXPECT_EQ(servers, 2);
}

}  // namespace
}  // namespace cloche::native
