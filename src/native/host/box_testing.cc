// SPDX-License-Identifier: Apache-2.0
#include "native/host/box_testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>

#include "native/host/patience.h"
#include "native/host/test_image_testing.h"

namespace cloche::native {
namespace {

using warden::Answer;

// The children of a process; the names of processes may be anything.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  DIR* const folder = ::opendir("/proc");
  while (const dirent* entry = folder == nullptr ? nullptr : ::readdir(folder)) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    std::ifstream file("/proc/" + std::string(name) + "/stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos || stat.size() < end + 5 || stat[end + 2] == 'Z') continue;
    if (std::atoi(stat.c_str() + end + 4) == parent) found.push_back(pid);
  }
  if (folder != nullptr) ::closedir(folder);
  return found;
}

}  // namespace

BoxTest::BoxTest() : warden_(warden_program()) {}

void BoxTest::SetUp() {
  CLOCHE_NEEDS_BOXES();
  image_.reset(::open(test_image().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  box_ = warden_.make(plan());
}

BoxTest::Started BoxTest::start(const std::string& script, Box* box) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd writing(ends[1]);
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Result<std::unique_ptr<Command>> command =
      (box ? box : box_.get())
          ->start({.arguments = {"bash", "-c", script},
                   .environment = {"PATH=/usr/bin:/bin"},
                   .directory = "/workspace",
                   .terminal = std::nullopt,
                   .files = {nothing.get(), writing.get(), writing.get()}});
  EXPECT_TRUE(command.ok());
  return {*std::move(command), UniqueFd(ends[0])};
}

Answer BoxTest::next(Command& command) {
  for (;;) {  // also woken by the start
    EXPECT_TRUE(readable_within(command.channel(), patience));
    const Result<std::optional<Answer>> answer = command.receive();
    EXPECT_TRUE(answer.ok());
    if (!answer) return {};
    if (*answer) return **answer;
  }
}

std::string BoxTest::read_all(const UniqueFd& from) {
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 1; got > 0;) {
    got = ::read(from.get(), piece.data(), piece.size());
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::string BoxTest::run(const std::string& script, Box* box) {
  Started started = start(script, box);
  std::string text = read_all(started.output);
  EXPECT_EQ(next(*started.command).tell, warden::Tell::ended);
  return text;
}

pid_t BoxTest::warden_process(pid_t of) {
  const std::vector<pid_t> children = children_of(of);
  EXPECT_EQ(children.size(), 1U);
  return children.empty() ? 0 : children.front();
}

std::vector<pid_t> BoxTest::box_processes(pid_t of) {
  std::vector<pid_t> found = children_of(warden_process(of));
  std::erase_if(found, [](pid_t pid) {  // root's mounter
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    const std::string status(std::istreambuf_iterator<char>(file), {});
    return status.find("NSpid:\t" + std::to_string(pid) + "\t1\n") == std::string::npos;
  });
  return found;
}

void BoxTest::expect_an_end_at_the_memory_limit() {
  BoxPlan small = plan();
  small.limits.memory_bytes = 64 << 20;
  const auto box = warden_.make(small);
  Started started = start("x=$(head -c 400M /dev/zero | tr '\\0' x); echo ${#x}", box.get());
  (void)read_all(started.output);
  const warden::Answer end = next(*started.command);
  EXPECT_EQ(end.tell, warden::Tell::ended);
  EXPECT_TRUE(end.memory_exceeded);
}

}  // namespace cloche::native
