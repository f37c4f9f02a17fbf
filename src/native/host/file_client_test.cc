// SPDX-License-Identifier: Apache-2.0
#include "native/host/file_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
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

// What comes after a piece that is none of a list is no answer to the next question.
TEST(FileClient, WhoAnswersNoListIsAskedNothingMore) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  UniqueFd own(ends[0]);
  const UniqueFd theirs(ends[1]);
  const struct {
    warden::FileAnswer answer{.last = 0};
    char rest = 'x';
  } piece;
  ASSERT_TRUE(warden::send_record(theirs.get(), piece));
  ASSERT_TRUE(warden::send_record(theirs.get(), warden::FileAnswer{.last = 1}));
  int servers = 0;
  FileClient files([&]() -> Result<UniqueFd> {
    if (++servers == 1) return std::move(own);
    return Errno::again;
  });
  EXPECT_EQ(files.list("/", 10).error(), Errno::io);
  EXPECT_FALSE(files.remove("/f"));
  EXPECT_EQ(servers, 2);
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

// A server that answers as a test says: such as one that a guest stops and lets go on.
class StoppedFileServer : public ::testing::Test {
 protected:
  static constexpr std::chrono::milliseconds limit{300};

  void serve(std::function<bool(int channel, const warden::FileRequest& request)> answer) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    own_ = UniqueFd(ends[0]);
    server_ = std::thread([theirs = UniqueFd(ends[1]), answer = std::move(answer)] {
      warden::FileRequest request{};
      std::string rest(warden::most_piece, '\0');
      for (;;) {
        iovec parts[2] = {{&request, sizeof request}, {rest.data(), rest.size()}};
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = 2;
        if (::recvmsg(theirs.get(), &message, 0) <= 0 || !answer(theirs.get(), request)) return;
      }
    });
  }
  void TearDown() override { server_.join(); }

  static bool send(int channel, const warden::FileAnswer& answer, std::string_view bytes) {
    const std::array<std::span<const std::byte>, 2> parts{std::as_bytes(std::span(&answer, 1)),
                                                          std::as_bytes(std::span(bytes))};
    return warden::send(channel, parts, {});
  }

  UniqueFd own_;
  std::thread server_;
};

// Each byte comes in time, and the file never does.
TEST_F(StoppedFileServer, AgainAndAgainItHoldsNobody) {
  int answers = 0;
  serve([&](int channel, const warden::FileRequest& request) {
    if (request.op == warden::FileOp::open) return send(channel, {.handle = 1}, "");
    ++answers;
    std::this_thread::sleep_for(limit / 10);
    return send(channel, {}, "x");
  });
  FileClient files([&]() -> Result<UniqueFd> { return std::move(own_); }, limit);
  const auto file = files.open("/f", 0, 0);
  ASSERT_TRUE(file);
  EXPECT_EQ(files.read(file->handle, 0, warden::most_piece).error(), Errno::io);
  EXPECT_LE(answers, 12);
  EXPECT_EQ(files.read(file->handle, 0, 1).error(), Errno::io);  // of a server that is no more
}

// Reads that end take nothing from those after them.
TEST_F(StoppedFileServer, ShortFilesAreReadAsLongAsThereAreSome) {
  constexpr std::chrono::milliseconds long_limit{1500}, an_answer{10};
  constexpr int reads = 100;
  bool is_read = false;
  serve([&](int channel, const warden::FileRequest& request) {
    if (request.op == warden::FileOp::open) return send(channel, {.handle = 1}, "");
    std::this_thread::sleep_for(an_answer);
    is_read = !is_read;
    return send(channel, {}, is_read ? "x" : "");
  });
  FileClient files([&]() -> Result<UniqueFd> { return std::move(own_); }, long_limit);
  const auto file = files.open("/f", 0, 0);
  ASSERT_TRUE(file);
  for (int i = 0; i < reads; ++i) {
    const auto content = files.read(file->handle, 0, warden::most_piece);
    ASSERT_TRUE(content) << i;
    EXPECT_EQ(*content, "x");
  }
}

TEST_F(StoppedFileServer, AListIsNoWayToIt) {
  int answers = 0;
  serve([&](int channel, const warden::FileRequest&) {
    const warden::FileEntry entry{.mode = 0100644, .name_bytes = 1};
    const std::string text = std::string(reinterpret_cast<const char*>(&entry), sizeof entry) + "x";
    while (++answers < 1000) {
      std::this_thread::sleep_for(limit / 10);
      if (!send(channel, {.last = 0}, text)) return false;
    }
    return send(channel, {.last = 1}, "");
  });
  FileClient files([&]() -> Result<UniqueFd> { return std::move(own_); }, limit);
  EXPECT_EQ(files.list("/", 1000).error(), Errno::io);
  EXPECT_LE(answers, 14);
}

// Pieces that come whole may take their time, all of them together as well.
TEST_F(StoppedFileServer, WholePiecesComeAsLongAsTheyCome) {
  constexpr std::chrono::seconds long_limit{3};
  constexpr int pieces = 70;
  const std::string piece(warden::most_piece, 'p');
  serve([&](int channel, const warden::FileRequest& request) {
    if (request.op == warden::FileOp::open) return send(channel, {.handle = 1}, "");
    std::this_thread::sleep_for(std::chrono::milliseconds(long_limit) / 60);
    return send(channel, {}, piece);
  });
  FileClient files([&]() -> Result<UniqueFd> { return std::move(own_); }, long_limit);
  const auto file = files.open("/f", 0, 0);
  ASSERT_TRUE(file);
  const auto content = files.read(file->handle, 0, pieces * piece.size());
  ASSERT_TRUE(content);
  EXPECT_EQ(content->size(), pieces * piece.size());
}

}  // namespace
}  // namespace cloche::native
