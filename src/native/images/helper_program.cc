// SPDX-License-Identifier: Apache-2.0
#include "native/images/helper_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/host_error.h"
#include "base/unique_fd.h"

extern char** environ;

namespace cloche::images {
namespace {

constexpr int folder_fd = 3;
constexpr std::size_t most_words = 1024;

UniqueFd out_of_the_way(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, folder_fd + 1)); }

std::string words_in(const UniqueFd& file) {
  std::string text(most_words, '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

HelperResult call_helper(const HelperCall& call) {
  const bool is_ours = call.surroundings == HelperCall::Surroundings::ours;
  const UniqueFd words(::memfd_create("words", MFD_CLOEXEC));
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd from = out_of_the_way(call.input < 0 ? nothing.get() : call.input);
  const UniqueFd to = out_of_the_way(call.folder);
  const UniqueFd said = out_of_the_way(words.get());
  if (!words || !from || !to || !said)
    throw HostError::from_errno(call.program.filename().string(), errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, from.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, said.get(), STDOUT_FILENO);
  if (!is_ours) posix_spawn_file_actions_adddup2(&actions, said.get(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, to.get(), folder_fd);
  posix_spawn_file_actions_addclosefrom_np(&actions, folder_fd + 1);
  std::string name = call.program.string();
  std::vector<std::string> words_of_call = call.arguments;
  std::vector<char*> arguments{name.data()};
  for (std::string& word : words_of_call) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<char*, 1> no_environment{nullptr};
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, name.c_str(), &actions, nullptr, arguments.data(),
                                   is_ours ? environ : no_environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw HostError::from_errno("cannot start " + name, failed);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return {.is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0, .said = words_in(words)};
}

}  // namespace cloche::images
