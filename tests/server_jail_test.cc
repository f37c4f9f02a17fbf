// SPDX-License-Identifier: Apache-2.0
// The server's own jail, from inside: what an error in the server could reach.
#include <fcntl.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/process_jail.h"
#include "base/unique_fd.h"
#include "doors/serve/jail.h"
#include "sandbox_testing.h"
#include "wasm/wat_testing.h"

extern char** environ;

namespace cloche::testing {
namespace {

namespace fs = std::filesystem;

// A program that a guest brings, so that it has to be compiled now.
std::string brought_program() {
  const auto code =
      wasm::from_wat(R"((module (memory (export "memory") 1) (func (export "_start"))))");
  return {reinterpret_cast<const char*>(code.data()), code.size()};
}

bool starts(const char* program) {
  pid_t child = 0;
  char* words[] = {const_cast<char*>(program), nullptr};
  if (posix_spawn(&child, program, nullptr, nullptr, words, environ) != 0) return false;
  int status = 0;
  waitpid(child, &status, 0);
  return true;
}

// In a child, which has one thread: 0 where all is well, 99 where this kernel lacks a wall, otherwise the number of what is not.
int inside(const fs::path& folder) {
  serve::Options options;
  options.ssh_host_key = folder / "key";
  options.sessions.state_folder = folder / "states";
  options.sessions.sandbox.mounts = {
      {.host_path = folder / "mount", .guest_path = "/data", .access = Mount::Access::read_write},
      {.host_path = folder / "file", .guest_path = "/etc/app", .access = Mount::Access::read_only}};
  options.sessions.sandbox.packages = {"numpy"};
  EngineOptions engine_options;
  if (!serve::enter_jail(options, engine_options).empty()) return 99;
  Engine engine(engine_options);
  hide_memory();
  const auto sandbox = engine.create(options.sessions.sandbox);
  if (sandbox->run({.script = "echo $((6 * 7)) | tee /data/out"}).stdout_data != "42\n") return 1;
  if (sandbox->run({.script = "python3 -c 'import numpy; print(numpy.arange(4).sum())'"})
          .stdout_data != "6\n")
    return 2;
  if (!sandbox->files().write("/workspace/brought", brought_program())) return 12;
  if (sandbox->run({.script = "chmod +x brought && ./brought"}).exit_code != 0) return 3;
  if (sandbox->fork()->run({.script = "cat /data/out"}).stdout_data != "42\n") return 4;
  if (sandbox->run({.script = "cat /etc/app"}).stdout_data != "given") return 13;
  if (!std::ofstream(folder / "states/new")) return 5;
  if (UniqueFd(open("/etc/passwd", O_RDONLY))) return 6;
  if (UniqueFd(open((folder / "other").c_str(), O_RDONLY))) return 7;
  if (UniqueFd(open((folder / "new").c_str(), O_CREAT | O_WRONLY, 0600))) return 8;
  if (starts("/bin/true")) return 9;
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) return 10;
  if (UniqueFd(open("/proc/1/environ", O_RDONLY))) return 11;
  return 0;
}

TEST(ServerJail, SandboxesWorkInItAndNothingElseIsInReach) {
  std::string name = fs::temp_directory_path() / "cloche-server-jail-XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const fs::path folder = name;
  fs::create_directory(folder / "mount");
  std::ofstream(folder / "file") << "given";
  std::ofstream(folder / "other") << "secret";
  const pid_t child = fork();
  if (child == 0) {
    int status = 98;
    try {
      status = inside(folder);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  fs::remove_all(folder);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == 99) GTEST_SKIP() << "this kernel lacks a wall";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the check of this number failed";
}

}  // namespace
}  // namespace cloche::testing
