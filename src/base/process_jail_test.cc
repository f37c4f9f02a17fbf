// SPDX-License-Identifier: Apache-2.0
#include "base/process_jail.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "base/unique_fd.h"

extern char** environ;

namespace cloche {
namespace {

namespace fs = std::filesystem;

class ProcessJail : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "cloche-jail-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(folder_ / "mine");
    fs::create_directory(folder_ / "other");
    for (const char* file : {"mine/file", "other/file"})
      EXPECT_TRUE(UniqueFd(open((folder_ / file).c_str(), O_CREAT | O_WRONLY, 0600)));
  }
  void TearDown() override { fs::remove_all(folder_); }

  // In a child that has entered the jail: the number of the first check that fails; 0: none, 99: no jail
  // here. Each check is true where all is well.
  int inside(const std::vector<std::function<bool(const fs::path&)>>& checks,
             bool connects = false) {
    const pid_t child = fork();
    if (child == 0) {
      JailRules rules{.readable = system_files(),
                      .writable = {folder_ / "mine"},
                      .executable = {},
                      .connects = connects};
      rules.executable = program_files("/bin/true");
      if (!enter_jail(rules).empty()) _exit(99);
      int number = 1;
      for (const auto& check : checks) {
        if (!check(folder_)) _exit(number);
        ++number;
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  fs::path folder_;
};

bool fails_with(int error, long result) { return result < 0 && errno == error; }

int run(const char* program) {
  pid_t child = 0;
  char* words[] = {const_cast<char*>(program), nullptr};
  const int error = posix_spawn(&child, program, nullptr, nullptr, words, environ);
  if (error != 0) return -error;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

long connect_to_here(int type) {
  const UniqueFd fd(socket(AF_INET, type, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

#define EXPECT_INSIDE(...)                                        \
  do {                                                            \
    const int result = inside(__VA_ARGS__);                       \
    if (result == 99) GTEST_SKIP() << "this kernel lacks a wall"; \
    EXPECT_EQ(result, 0) << "the check of this number failed";    \
  } while (false)

TEST_F(ProcessJail, LeavesTheFilesThatItNamesAndNoOthers) {
  EXPECT_INSIDE({
      [](const fs::path& folder) {
        return bool(UniqueFd(open((folder / "mine/file").c_str(), O_RDWR)));
      },
      [](const fs::path& folder) {
        return bool(UniqueFd(open((folder / "mine/new").c_str(), O_CREAT | O_WRONLY, 0600)));
      },
      [](const fs::path& folder) {
        return rename((folder / "mine/new").c_str(), (folder / "mine/newer").c_str()) == 0;
      },
      [](const fs::path& folder) {
        return fails_with(EACCES, open((folder / "other/file").c_str(), O_RDONLY));
      },
      [](const fs::path& folder) {
        return fails_with(EACCES, open((folder / "other/new").c_str(), O_CREAT | O_WRONLY, 0600));
      },
      [](const fs::path& folder) {
        return fails_with(EACCES, unlink((folder / "other/file").c_str()));
      },
      [](const fs::path& folder) {
        return rename((folder / "mine/file").c_str(), (folder / "other/moved").c_str()) < 0;
      },
      [](const fs::path&) { return fails_with(EACCES, open("/etc/passwd", O_RDONLY)); },
      [](const fs::path&) { return fails_with(EACCES, open("/etc/hosts", O_WRONLY)); },
      [](const fs::path&) { return bool(UniqueFd(open("/proc/self/statm", O_RDONLY))); },
  });
}

TEST_F(ProcessJail, StartsTheProgramsThatItNamesAndNoOthers) {
  EXPECT_INSIDE({
      [](const fs::path&) { return run("/bin/true") == 0; },
      [](const fs::path&) { return run("/bin/false") == -EACCES; },
      // By the loader that the program needs, neither.
      [](const fs::path&) {
        const auto files = program_files("/bin/true");
        if (files.size() < 2) return false;
        char* words[] = {const_cast<char*>(files[1].c_str()), const_cast<char*>("/bin/false"),
                         nullptr};
        pid_t child = 0;
        if (posix_spawn(&child, files[1].c_str(), nullptr, nullptr, words, environ) != 0)
          return true;
        int status = 0;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status) == 127;
      },
  });
}

TEST_F(ProcessJail, ReachesNoOtherProcessAndNoPrivilege) {
  const pid_t parent = getpid();
  EXPECT_INSIDE({
      [](const fs::path&) {
        return fails_with(ENOSYS, ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
      },
      [parent](const fs::path&) { return fails_with(EPERM, kill(parent, 0)); },
      [](const fs::path&) { return fails_with(ENOSYS, unshare(CLONE_NEWUSER)); },
      [](const fs::path&) {
        return fails_with(
            EPERM, syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
      },
      [](const fs::path&) { return fails_with(ENOSYS, chroot("/")); },
      [](const fs::path&) { return fails_with(ENOSYS, setuid(0)); },
      [](const fs::path&) { return fails_with(EAFNOSUPPORT, socket(AF_PACKET, SOCK_RAW, 0)); },
  });
}

TEST_F(ProcessJail, ConnectsOnlyWhereThatIsAllowed) {
  const std::function<bool(const fs::path&)> listens = [](const fs::path&) {
    const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
    return listen(fd.get(), 1) == 0;
  };
  EXPECT_INSIDE({[](const fs::path&) { return fails_with(EACCES, connect_to_here(SOCK_STREAM)); },
                 [](const fs::path&) { return fails_with(EACCES, connect_to_here(SOCK_DGRAM)); },
                 listens});
  EXPECT_INSIDE(
      {[](const fs::path&) { return connect_to_here(SOCK_DGRAM) == 0; },
       [](const fs::path&) { return fails_with(ECONNREFUSED, connect_to_here(SOCK_STREAM)); },
       listens},
      true);
}

TEST_F(ProcessJail, HoldsItsThreadsToo) {
  EXPECT_INSIDE({[](const fs::path&) {
    bool refused = false;
    std::thread([&] { refused = fails_with(EACCES, open("/etc/passwd", O_RDONLY)); }).join();
    return refused;
  }});
}

TEST_F(ProcessJail, HiddenMemoryIsReadByNoOtherProcessOfTheUser) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    hide_memory();
    (void)!write(ready[1], "r", 1);
    pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  struct stat about{};
  ASSERT_EQ(stat(("/proc/" + std::to_string(child) + "/environ").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, 0U);
  rlimit core{};
  ASSERT_EQ(prlimit(child, RLIMIT_CORE, nullptr, &core), 0);
  EXPECT_EQ(core.rlim_max, 0U);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace cloche
