// SPDX-License-Identifier: Apache-2.0
#include "native/images/unpacker.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/host_error.h"
#include "base/unique_fd.h"

namespace cloche::images {
namespace {

constexpr int target_fd = 3;
constexpr std::size_t most_words = 1024;

UniqueFd out_of_the_way(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, target_fd + 1)); }

std::string words_in(const UniqueFd& file) {
  std::string text(most_words, '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

void unpack(const std::filesystem::path& program, ArchiveKind kind, int archive, int folder,
            const UnpackLimits& limits) {
  if (program.empty())
    throw HostError("archives cannot be unpacked: cloche-unpack is not beside cloche");
  const UniqueFd words(::memfd_create("words", MFD_CLOEXEC));
  const UniqueFd from = out_of_the_way(archive);
  const UniqueFd to = out_of_the_way(folder);
  const UniqueFd said = out_of_the_way(words.get());
  if (!words || !from || !to || !said) throw HostError::from_errno("cloche-unpack", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, from.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, said.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, said.get(), 2);
  posix_spawn_file_actions_adddup2(&actions, to.get(), target_fd);
  posix_spawn_file_actions_addclosefrom_np(&actions, target_fd + 1);
  std::string name = program.string();
  std::string how = kind == ArchiveKind::layer ? "layer" : "archive";
  std::string bytes = std::to_string(limits.bytes), files = std::to_string(limits.files);
  std::array<char*, 5> arguments{name.data(), how.data(), bytes.data(), files.data(), nullptr};
  std::array<char*, 1> environment{nullptr};
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, name.c_str(), &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw HostError::from_errno("cannot start " + name, failed);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string reason = words_in(words);
  throw request_error(
      "the archive cannot be unpacked: " +
      (reason.empty() ? std::string("it took too long, or too much memory") : reason));
}

}  // namespace cloche::images
