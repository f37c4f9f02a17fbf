// SPDX-License-Identifier: Apache-2.0
#include "native/host/file_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
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

}  // namespace
}  // namespace cloche::native
