// SPDX-License-Identifier: Apache-2.0
#include "doors/lines/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "doors/lines/input.h"

namespace cloche::lines {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::pipe(fds.data()), 0);
    read_end.reset(fds[0]);
    write_end.reset(fds[1]);
  }
  UniqueFd read_end;
  UniqueFd write_end;
};

TEST(Output, LinesAreWholeAndNoneComesAfterTheLast) {
  const Pipe pipe;
  Output output(pipe.write_end.get());
  output.send("one");
  output.send_last("two");
  output.send("three");
  EXPECT_TRUE(output.gone());
  std::array<char, 64> got{};
  EXPECT_EQ(::read(pipe.read_end.get(), got.data(), got.size()), 8);
  EXPECT_STREQ(got.data(), "one\ntwo\n");
}

// No reader is lost there, which the input could see: the answer is.
TEST(Output, AnAnswerThatCannotBeWrittenIsTheEndOfTheInput) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  const Pipe pipe;
  Output output(full.get());
  Input input({.in = pipe.read_end.get(),
               .out = full.get(),
               .lost = output.lost(),
               .line_limit_bytes = 10});
  EXPECT_FALSE(input.is_lost_within(0));
  output.send("answer");
  EXPECT_TRUE(output.gone());
  EXPECT_TRUE(input.is_lost_within(0));
  EXPECT_EQ(input.next(), Input::Event::lost);
}

}  // namespace
}  // namespace cloche::lines
