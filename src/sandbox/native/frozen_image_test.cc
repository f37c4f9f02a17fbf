// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/frozen_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

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

Result<UniqueFd> read_into(FrozenImage& frozen, const std::string& image, std::size_t piece_bytes) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd from(ends[0]), to(ends[1]);
  for (std::size_t at = 0; at < image.size(); at += piece_bytes) {
    EXPECT_TRUE(write_fully(to.get(), std::string_view(image).substr(at, piece_bytes)));
    while (frozen.take_from(from.get())) continue;
  }
  return frozen.finish();
}

// What comes of an image that is written in such pieces.
Result<UniqueFd> read_image(const std::string& image, std::size_t piece_bytes) {
  FrozenImage frozen(most);
  return read_into(frozen, image, piece_bytes);
}

std::string content_of(const UniqueFd& file) {
  std::string content(most + 1, '\0');
  const ssize_t got = ::pread(file.get(), content.data(), content.size(), 0);
  content.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return content;
}

TEST(FrozenImage, IsWhatWasWrittenInWhateverPieces) {
  const std::string image = image_of(100'000, 100'000);
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{15}, std::size_t{4097}, image.size()}) {
    if (piece > 65536) continue;  // more than a pipe holds
    const Result<UniqueFd> file = read_image(image, piece);
    ASSERT_TRUE(file.ok()) << piece;
    EXPECT_EQ(content_of(*file), image);
  }
}

// Of such a length that its pieces are written in several.
TEST(FrozenImage, IsInTheFileThatItIsGiven) {
  std::string image = image_of(700'001, 700'001);
  for (std::size_t i = sizeof(freeze::Head); i < image.size(); ++i)
    image[i] = static_cast<char>(i / 4096);
  native::LargeFile file;
  file.writable.reset(::memfd_create("image", MFD_CLOEXEC));
  const std::string name = "/proc/self/fd/" + std::to_string(file.writable.get());
  file.readable.reset(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  FrozenImage frozen(most, std::move(file));
  const Result<UniqueFd> made = read_into(frozen, image, 50'000);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(content_of(*made), image);
  EXPECT_LT(::pwrite(made->get(), "x", 1, 0), 0);
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
