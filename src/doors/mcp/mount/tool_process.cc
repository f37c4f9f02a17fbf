// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/host_error.h"

namespace cloche::mcp::mount {
namespace {

// What hosts of MCP pass to each server.
constexpr std::array passed{"HOME",  "LANG", "LC_ALL", "LOGNAME", "PATH",
                            "SHELL", "TERM", "TMPDIR", "USER"};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw HostError::from_errno("cannot make a pipe", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void never_wait(int fd) {
  if (::fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
    throw HostError::from_errno("cannot set up a pipe", errno);
}

class SpawnActions {
 public:
  SpawnActions() { (void)::posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { (void)::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* get() noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// A group of its own, no signal held back or ignored.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    (void)::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    (void)::posix_spawnattr_setsigmask(&attributes_, &none);
    (void)::posix_spawnattr_setsigdefault(&attributes_, &all);
    (void)::posix_spawnattr_setpgroup(&attributes_, 0);
    (void)::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { (void)::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const noexcept { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

// NAME=VALUE of each variable that the program gets.
std::vector<std::string> environment_of(const ToolServerConfig& config) {
  std::map<std::string, std::string> variables = config.env;
  for (const char* name : passed) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
    if (value != nullptr) variables.emplace(name, value);
  }
  std::vector<std::string> lines;
  lines.reserve(variables.size());
  for (const auto& [name, value] : variables) lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

ToolProcess::ToolProcess(const ToolServerConfig& config) {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  never_wait(in.write.get());
  never_wait(out.read.get());
  SpawnActions actions;
  constexpr int first_other = 3;
  int failed = ::posix_spawn_file_actions_adddup2(actions.get(), in.read.get(), STDIN_FILENO);
  if (failed == 0)
    failed = ::posix_spawn_file_actions_adddup2(actions.get(), out.write.get(), STDOUT_FILENO);
  if (failed == 0) failed = ::posix_spawn_file_actions_addclosefrom_np(actions.get(), first_other);
  if (failed == 0 && !config.cwd.empty())
    failed = ::posix_spawn_file_actions_addchdir_np(actions.get(), config.cwd.c_str());
  const SpawnAttributes attributes;
  std::vector<std::string> words = config.words;
  std::vector<std::string> variables = environment_of(config);
  if (failed == 0) {
    failed = ::posix_spawnp(&pid_, words.front().c_str(), actions.get(), attributes.get(),
                            pointers(words).data(), pointers(variables).data());
  }
  if (failed != 0) {
    throw request_error(fmt::format("the tool server '{}' cannot be started: {}: {}", config.name,
                                    config.words.front(), std::generic_category().message(failed)));
  }
  pipes_ = {std::move(in.write), std::move(out.read)};
}

void ToolProcess::end() noexcept {
  if (pid_ == 0) return;
  (void)::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = 0;
}

}  // namespace cloche::mcp::mount
