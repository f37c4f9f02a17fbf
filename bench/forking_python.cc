// SPDX-License-Identifier: Apache-2.0
#include "forking_python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cloche::bench {
namespace {

// Asked on standard input; a letter is the answer.
constexpr const char* script = R"py(
import os
{make}
while True:
    what = os.read(0, 1)
    if what == b'w':
        {write}
    elif what == b'f':
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            exec("os.write(writer, b'%d' % (len(state) > 0))")
            os._exit(0)
        os.close(writer)
        assert os.read(reader, 8) == b'1'
        os.close(reader)
        os.waitpid(child, 0)
    else:
        break
    os.write(0, b'.')
)py";

}  // namespace

ForkingPython::ForkingPython() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "a socket for python3");
  ours_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  std::string program = "/usr/bin/python3", option = "-c",
              text = fmt::format(fmt::runtime(script), fmt::arg("make", make_10_mb),
                                 fmt::arg("write", write_10_mb));
  std::array<char*, 4> arguments{program.data(), option.data(), text.data(), nullptr};
  const int failed =
      ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), program);
}

ForkingPython::~ForkingPython() {
  ours_.reset();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void ForkingPython::ask(char what) {
  char answer = 0;
  if (::send(ours_.get(), &what, 1, MSG_NOSIGNAL) != 1 || ::recv(ours_.get(), &answer, 1, 0) != 1 ||
      answer != '.')
    throw std::runtime_error("python3 does not fork itself");
}

}  // namespace cloche::bench
