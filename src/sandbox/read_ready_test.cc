// SPDX-License-Identifier: Apache-2.0
#include "sandbox/read_ready.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace cloche::sandbox {
namespace {

std::pair<ssize_t, std::string> read_of(int fd) {
  std::array<char, 8> room{};
  const ssize_t got = read_ready(fd, std::as_writable_bytes(std::span(room)));
  return {got < 0 ? -errno : got, std::string(room.data(), got > 0 ? got : 0)};
}

const std::pair<ssize_t, std::string> nothing{-EAGAIN, ""}, end{0, ""};

TEST(ReadReady, DoesNotWaitForWhatSomebodyElseHasTaken) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  EXPECT_EQ(read_of(reading.get()), nothing);
  ASSERT_EQ(::write(writing.get(), "ab", 2), 2);
  EXPECT_EQ(read_of(reading.get()), std::pair(ssize_t{2}, std::string("ab")));
  EXPECT_EQ(read_of(reading.get()), nothing);
  writing.reset();
  EXPECT_EQ(read_of(reading.get()), end);
}

TEST(ReadReady, NorForAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  const iovec none{};
  if (::preadv2(reading.get(), &none, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP)
    GTEST_SKIP() << "this kernel reads no pipe without waiting";
  EXPECT_EQ(read_of(reading.get()), nothing);
  ASSERT_EQ(::write(writing.get(), "ab", 2), 2);
  EXPECT_EQ(read_of(reading.get()), std::pair(ssize_t{2}, std::string("ab")));
}

TEST(ReadReady, OfAFileHasAllOfIt) {
  const UniqueFd file(::memfd_create("file", MFD_CLOEXEC));
  ASSERT_EQ(::write(file.get(), "0123456789", 10), 10);
  ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(read_of(file.get()).second, "01234567");
  EXPECT_EQ(read_of(file.get()).second, "89");
  EXPECT_EQ(read_of(file.get()), end);
}

}  // namespace
}  // namespace cloche::sandbox
