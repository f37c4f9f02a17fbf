// SPDX-License-Identifier: Apache-2.0
#include "doors/lines/input.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

namespace cloche::lines {
namespace {

using Event = Input::Event;

struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::pipe(fds.data()), 0);
    read_end.reset(fds[0]);
    write_end.reset(fds[1]);
  }
  void put(std::string_view text) const {
    EXPECT_EQ(::write(write_end.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  UniqueFd read_end;
  UniqueFd write_end;
};

// What comes of a text, lines and events in order.
std::vector<std::string> events_of(std::string_view text, std::size_t limit) {
  Pipe pipe;
  std::thread writer([&] {
    pipe.put(text);
    pipe.write_end.reset();
  });
  Input input({.in = pipe.read_end.get(), .line_limit_bytes = limit});
  std::vector<std::string> events;
  for (Event event = input.next(); event != Event::end; event = input.next())
    events.push_back(event == Event::line ? input.line() : "<too long>");
  writer.join();
  return events;
}

TEST(Input, CutsLines) {
  using List = std::vector<std::string>;
  EXPECT_EQ(events_of("", 10), List{});
  EXPECT_EQ(events_of("a\nbc\n\nd", 10), (List{"a", "bc", "", "d"}));
  EXPECT_EQ(events_of("a\r\n", 10), List{"a\r"});
}

TEST(Input, ALineThatIsTooLongCostsItselfOnly) {
  using List = std::vector<std::string>;
  EXPECT_EQ(events_of("12345\n123456\nok\n", 5), (List{"12345", "<too long>", "ok"}));
  const std::string huge(3'000'000, 'x');
  EXPECT_EQ(events_of("a\n" + huge + "\nb\n" + huge, 1000),
            (List{"a", "<too long>", "b", "<too long>"}));
}

TEST(Input, SeesThatTheReaderIsGone) {
  Pipe in, out;
  Input input({.in = in.read_end.get(), .out = out.write_end.get(), .line_limit_bytes = 10});
  in.put("a\n");
  EXPECT_EQ(input.next(), Event::line);
  EXPECT_FALSE(input.is_lost_within(0));
  out.read_end.reset();
  EXPECT_EQ(input.next(), Event::lost);
  EXPECT_TRUE(input.is_lost_within(0));
}

TEST(Input, EndsWithAnotherProcess) {
  Pipe in, stay;
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    stay.write_end.reset();
    (void)!::read(stay.read_end.get(), &byte, 1);
    ::_exit(0);
  }
  Input input({.in = in.read_end.get(), .parent_pid = child, .line_limit_bytes = 10});
  in.put("a\n");
  EXPECT_EQ(input.next(), Event::line);
  stay.write_end.reset();
  EXPECT_EQ(input.next(), Event::lost);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  Input late({.in = in.read_end.get(), .parent_pid = child, .line_limit_bytes = 10});
  EXPECT_EQ(late.next(), Event::lost);
}

}  // namespace
}  // namespace cloche::lines
