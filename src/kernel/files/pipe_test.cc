// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/pipe.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kernel/files/byte_ring.h"

namespace cloche::kernel {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// A result in words: what was done, or the error's name.
std::string shown(const Result<std::size_t>& result) {
  return result ? std::to_string(*result) : std::string(errno_info(result.error()).name);
}

class PipeTest : public ::testing::Test {
 protected:
  std::string read(std::size_t most) {
    std::string buffer(most, '\0');
    const Result<std::size_t> count = pipe_.try_read(std::as_writable_bytes(std::span(buffer)));
    if (!count) return std::string(errno_info(count.error()).name);
    return buffer.substr(0, *count);
  }
  std::string write(std::string_view text) { return shown(pipe_.try_write(bytes_of(text))); }

  std::shared_ptr<BufferBudget> budget_ = std::make_shared<BufferBudget>();
  Pipe pipe_{budget_, 1};
};

TEST_F(PipeTest, GivesWhatWasWritten) {
  pipe_.open_reader();
  pipe_.open_writer();
  EXPECT_EQ(read(10), "EAGAIN");
  EXPECT_EQ(write("hello"), "5");
  EXPECT_EQ(read(3), "hel");
  EXPECT_EQ(read(3), "lo");
  EXPECT_EQ(read(3), "EAGAIN");
}

TEST_F(PipeTest, EndsWithItsWriters) {
  pipe_.open_reader();
  pipe_.open_writer();
  pipe_.open_writer();
  write("rest");
  pipe_.close_writer();
  EXPECT_EQ(read(10), "rest");
  EXPECT_EQ(read(10), "EAGAIN");
  const std::uint64_t wakes = pipe_.readable.wakes();
  pipe_.close_writer();
  EXPECT_EQ(pipe_.readable.wakes(), wakes + 1);
  EXPECT_EQ(read(10), "");
}

TEST_F(PipeTest, IsBrokenWithoutReaders) {
  pipe_.open_writer();
  EXPECT_EQ(write("x"), "EPIPE");
  EXPECT_EQ(write(""), "0");
}

TEST_F(PipeTest, AFullPipeTakesAtomicWritesWholeOrNotAtAll) {
  pipe_.open_reader();
  pipe_.open_writer();
  EXPECT_EQ(write(std::string(100'000, 'x')), "65536");
  EXPECT_FALSE(pipe_.has_room());
  EXPECT_EQ(write("y"), "EAGAIN");
  (void)read(100);
  EXPECT_EQ(write(std::string(101, 'y')), "EAGAIN");
  EXPECT_EQ(write(std::string(100, 'y')), "100");
  (void)read(100);
  EXPECT_EQ(write(std::string(5000, 'z')), "100") << "a longer write takes what room there is";
}

TEST_F(PipeTest, WritersAreWokenOnceForTheirRoom) {
  pipe_.open_reader();
  pipe_.open_writer();
  write(std::string(65536, 'x'));
  const std::uint64_t wakes = pipe_.writable.wakes();
  for (int i = 0; i < 4095; ++i) (void)read(1);
  EXPECT_EQ(pipe_.writable.wakes(), wakes);
  (void)read(1);
  EXPECT_EQ(pipe_.writable.wakes(), wakes + 1);
  (void)read(1000);
  EXPECT_EQ(pipe_.writable.wakes(), wakes + 1);
  // Once more for those that wait for half of it.
  (void)read(32768 - 4096 - 1000 - 1);
  EXPECT_EQ(pipe_.writable.wakes(), wakes + 1);
  (void)read(1);
  EXPECT_TRUE(pipe_.half_free());
  EXPECT_EQ(pipe_.writable.wakes(), wakes + 2);
  (void)read(32768);
  EXPECT_EQ(pipe_.writable.wakes(), wakes + 2);
}

TEST_F(PipeTest, CapacityIsBounded) {
  pipe_.open_reader();
  pipe_.open_writer();
  EXPECT_EQ(*pipe_.set_capacity(1), 4096U);
  EXPECT_EQ(*pipe_.set_capacity(5000), 8192U);
  EXPECT_EQ(write(std::string(9000, 'x')), "8192");
  EXPECT_EQ(pipe_.set_capacity(4096).error(), Errno::busy);
  EXPECT_EQ(*pipe_.set_capacity(1 << 20), 1U << 20);
  EXPECT_EQ(pipe_.set_capacity((1 << 20) + 1).error(), Errno::perm);
  EXPECT_EQ(write(std::string(2 << 20, 'x')), std::to_string((1 << 20) - 8192));
}

TEST_F(PipeTest, UnreadPutsBackInFront) {
  pipe_.open_reader();
  pipe_.open_writer();
  write("hello world");
  EXPECT_EQ(read(6), "hello ");
  pipe_.unread(bytes_of("llo "));
  EXPECT_EQ(read(20), "llo world");
}

TEST_F(PipeTest, GoesAroundTheEndOfItsStorage) {
  pipe_.open_reader();
  pipe_.open_writer();
  std::string expected;
  std::string got;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece(1 + static_cast<std::size_t>(i * 37 % 3000),
                            static_cast<char>('a' + i % 26));
    expected += piece;
    ASSERT_EQ(write(piece), std::to_string(piece.size()));
    got += read(static_cast<std::size_t>(i % 7) * 700);
    while (pipe_.size() > 30'000) got += read(10'000);
  }
  while (pipe_.size() != 0) got += read(65536);
  EXPECT_EQ(got, expected);
}

TEST(BufferBudgetTest, WhenItIsUsedUpPipesAreSmallButWork) {
  auto budget = std::make_shared<BufferBudget>(100'000);
  std::vector<std::unique_ptr<Pipe>> pipes;
  for (int i = 0; i < 100; ++i) {
    pipes.push_back(std::make_unique<Pipe>(budget, 1));
    pipes.back()->open_reader();
    pipes.back()->open_writer();
    const Result<std::size_t> written = pipes.back()->try_write(bytes_of(std::string(65536, 'x')));
    ASSERT_TRUE(written);
    EXPECT_GE(*written, 4096U);
    EXPECT_LE(budget->used_bytes(), 100'000U);
  }
  EXPECT_EQ(*pipes.back()->set_capacity(4096), 4096U);
  EXPECT_EQ(pipes.back()->set_capacity(1 << 20).error(), Errno::perm);
  pipes.clear();
  EXPECT_EQ(budget->used_bytes(), 0U);
}

}  // namespace
}  // namespace cloche::kernel
