// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/frozen_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/write_fully.h"
#include "native/thaw/image.h"

namespace cloche::sandbox {
namespace {

constexpr std::uint64_t most = 1 << 20;

std::string image_of(std::uint64_t told_bytes, std::size_t bytes) {
  std::string image(bytes, 'i');
  freeze::Head head{};
  head.magic = freeze::image_magic;
  head.total_bytes = told_bytes;
  std::memcpy(image.data(), &head, std::min(sizeof head, bytes));
  return image;
}

// What comes of an image that is written in such pieces.
Result<UniqueFd> read_image(const std::string& image, std::size_t piece_bytes) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd from(ends[0]), to(ends[1]);
  FrozenImage frozen(most);
  for (std::size_t at = 0; at < image.size(); at += piece_bytes) {
    EXPECT_TRUE(write_fully(to.get(), std::string_view(image).substr(at, piece_bytes)));
    while (frozen.take_from(from.get())) continue;
  }
  return frozen.finish();
}

TEST(FrozenImage, IsWhatWasWrittenInWhateverPieces) {
  const std::string image = image_of(100'000, 100'000);
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{15}, std::size_t{4097}, image.size()}) {
    if (piece > 65536) continue;  // more than a pipe holds
    const Result<UniqueFd> file = read_image(image, piece);
    ASSERT_TRUE(file.ok()) << piece;
    std::string content(image.size() + 1, '\0');
    EXPECT_EQ(::pread(file->get(), content.data(), content.size(), 0),
              static_cast<ssize_t>(image.size()));
    content.pop_back();
    EXPECT_EQ(content, image);
  }
}

TEST(FrozenImage, CannotBeWrittenAfterwards) {
  const Result<UniqueFd> file = read_image(image_of(8192, 8192), 4096);
  ASSERT_TRUE(file.ok());
  EXPECT_LT(::pwrite(file->get(), "x", 1, 0), 0);
  EXPECT_LT(::ftruncate(file->get(), 1 << 30), 0);
}

TEST(FrozenImage, OfAWrongLengthIsNone) {
  EXPECT_EQ(read_image(image_of(8193, 8192), 4096).error(), Errno::io);
  EXPECT_EQ(read_image(image_of(8191, 8192), 4096).error(), Errno::io);
  EXPECT_EQ(read_image(image_of(most + 1, 8192), 4096).error(), Errno::toobig);
  EXPECT_EQ(read_image(image_of(~0ULL, 8192), 4096).error(), Errno::toobig);
  EXPECT_EQ(read_image(image_of(16, 8192), 4096).error(), Errno::inval);
  EXPECT_EQ(read_image(std::string(8192, 'x'), 4096).error(), Errno::inval);
  EXPECT_EQ(read_image("short", 4096).error(), Errno::io);
  EXPECT_EQ(read_image("", 4096).error(), Errno::io);
}

}  // namespace
}  // namespace cloche::sandbox
