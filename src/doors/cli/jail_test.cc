// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/jail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>

#include "base/process_jail.h"
#include "base/temp_dir_testing.h"
#include "base/unique_fd.h"

namespace cloche::cli {
namespace {

// What `body` says in a process of its own, for there is no way out of a jail.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 98;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool has_landlock() {
  return in_child([] { return cloche::enter_jail(JailRules{}).empty() ? 0 : 1; }) == 0;
}

bool opens(const std::filesystem::path& path, int flags = O_RDONLY) {
  return static_cast<bool>(UniqueFd(open(path.c_str(), flags | O_CLOEXEC, 0600)));
}

int connect_error() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in nobody{};  // port 0
  nobody.sin_family = AF_INET;
  nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&nobody), sizeof nobody) == 0
             ? 0
             : errno;
}

class CommandJail : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_landlock()) GTEST_SKIP() << "this kernel lacks a wall";
    std::filesystem::create_directory(folder_.path() / "mount");
    std::filesystem::create_directory(folder_.path() / "out");
    folder_.write("other", "secret");
    folder_.write("mount/in", "given");
    engine_.system_folder = folder_.path() / "system";
    engine_.cache_folder = folder_.path() / "cache";
  }

  const TempDir folder_;
  EngineOptions engine_;
};

TEST_F(CommandJail, HasWhatTheOptionsNameAndNoMore) {
  Options options;
  options.sandbox.mounts = {{.host_path = folder_.path() / "mount",
                             .guest_path = "/data",
                             .access = Mount::Access::read_only}};
  const OutPlaces places({{.guest_path = "/tmp/x", .host_path = folder_.path() / "out/x"}});
  EXPECT_EQ(in_child([&] {
              enter_jail(options, places, engine_, Connections::never);
              if (!opens(folder_.path() / "mount/in")) return 1;
              if (opens(folder_.path() / "mount/in", O_WRONLY)) return 2;
              if (!opens(folder_.path() / "out/x.part", O_WRONLY | O_CREAT)) return 3;
              if (opens(folder_.path() / "other")) return 4;
              if (opens("/etc/passwd")) return 5;
              if (connect_error() != EACCES) return 6;
              return 0;
            }),
            0)
      << "the check of this number failed";
}

TEST_F(CommandJail, ConnectsWhereRulesOfTheNetworkAllowIt) {
  EXPECT_NE(in_child([&] {
              enter_jail({}, OutPlaces({}), engine_, Connections::some);
              return connect_error();
            }),
            EACCES);
}

TEST_F(CommandJail, OfAClientThatNamesFilesLaterStartsNoOtherProgram) {
  EXPECT_EQ(in_child([&] {
              enter_jail_with_files(engine_);
              if (!opens(folder_.path() / "other")) return 1;
              if (!opens(folder_.path() / "new", O_WRONLY | O_CREAT)) return 2;
              execl("/bin/true", "true", nullptr);
              return errno == EACCES ? 0 : 3;
            }),
            0)
      << "the check of this number failed";
}

}  // namespace
}  // namespace cloche::cli
