// SPDX-License-Identifier: Apache-2.0
// What rests has its memory packed, and goes on as if it had not.
#include <cloche/engine.h>
#include <cloche/sandbox.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/waiting_testing.h"

namespace cloche::testing {
namespace {

// What this process has of linear memories for itself, in KiB: pages of files and of none.
std::uint64_t guest_kib() {
  std::ifstream maps("/proc/self/smaps");
  std::uint64_t sum = 0;
  bool is_guests = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first.find('-') != std::string::npos && !first.ends_with(':')) {
      is_guests = line.find("cloche-memory") != std::string::npos ||
                  line.find(".image") != std::string::npos || line.find('/') == std::string::npos;
      is_guests = is_guests && line.find("[heap]") == std::string::npos;
    } else if (first == "Private_Dirty:" && is_guests) {
      std::uint64_t kib = 0;
      words >> kib;
      sum += kib;
    }
  }
  return sum;
}

// What files in memory hold that this process has open, mapped or not.
std::uint64_t file_kib() {
  std::uint64_t sum = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat of{};
    if (std::filesystem::read_symlink(entry, ignored).string().find("cloche-memory") !=
            std::string::npos &&
        ::stat(entry.path().c_str(), &of) == 0)
      sum += static_cast<std::uint64_t>(of.st_blocks) / 2;
  }
  return sum;
}

class IdleMemory : public ::testing::Test {
 protected:
  static EngineOptions options() {
    EngineOptions options{.system_folder = CLOCHE_ROOTFS_DIR};
    options.pack_idle_after = std::chrono::milliseconds(50);
    return options;
  }
  std::string shell(Sandbox& sandbox, const std::string& script) {
    return sandbox.run({.script = script, .shell = ShellState::kept}).stdout_data;
  }

  Engine engine_{options()};
};

TEST_F(IdleMemory, IsAFractionAndComesBack) {
  const auto sandbox = engine_.create({});
  EXPECT_EQ(sandbox->run_python("print(1)").stdout_data, "1\n");
  const auto begin = guest_kib();
  // Pages that differ in a word each, and some that differ all over.
  EXPECT_EQ(sandbox
                ->run_python("a = bytearray(4 << 20)\n"
                             "for i in range(0, len(a), 4096): a[i] = i >> 12 & 255\n"
                             "import hashlib; b = hashlib.sha256(a).hexdigest()")
                .status,
            RunStatus::exited);
  EXPECT_TRUE(within_a_minute([&] { return guest_kib() < begin + 2048; }));
  EXPECT_EQ(sandbox->run_python("print(hashlib.sha256(a).hexdigest() == b)").stdout_data, "True\n");
}

TEST_F(IdleMemory, OfAShellComesBackWithAllThatItHas) {
  const auto sandbox = engine_.create({});
  shell(*sandbox, "f() { echo $1 ${list[3]}; }; list=({1..2000}); cd /tmp; trap 'echo usr' USR1");
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));  // some are packed, some not
    EXPECT_EQ(shell(*sandbox, "f $PWD; kill -USR1 $$; echo ${#list[@]}"), "/tmp 4\nusr\n2000\n");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  const auto fork = sandbox->fork();
  EXPECT_EQ(shell(*fork, "f fork"), "fork 4\n");
  EXPECT_EQ(shell(*sandbox, "f parent"), "parent 4\n");
}

TEST_F(IdleMemory, IsGivenBackWherePythonHasFreedIt) {
  const auto sandbox = engine_.create({});
  EXPECT_EQ(sandbox->run_python("print(1)").stdout_data, "1\n");
  const std::uint64_t begin = guest_kib() + file_kib();
  EXPECT_EQ(sandbox
                ->run_python("import hashlib\n"
                             "kept = [bytes([i & 255]) * 9999 for i in range(300)]\n"
                             "digest = hashlib.sha256(b''.join(kept)).hexdigest()\n"
                             "big = bytearray(b'a') * (64 << 20)\n"
                             "many = [bytearray(b'b') * 300000 for i in range(100)]\n"
                             "del big, many")
                .stderr_data,
            "");
  EXPECT_TRUE(within_a_minute([&] { return guest_kib() + file_kib() < begin + (8 << 10); }))
      << guest_kib() << " and " << file_kib() << ", at first " << begin;
  EXPECT_EQ(sandbox
                ->run_python("print(hashlib.sha256(b''.join(kept)).hexdigest() == digest)\n"
                             "again = bytearray(80 << 20); print(again.count(0) == len(again))\n"
                             "more = [bytearray(300000) for i in range(200)]\n"
                             "print(any(map(any, more)))")
                .stdout_data,
            "True\nTrue\nFalse\n");
}

TEST_F(IdleMemory, IsGivenBackWhereAShellHasFreedIt) {
  const std::uint64_t begin = file_kib();
  std::vector<std::unique_ptr<Sandbox>> sandboxes;
  for (int i = 0; i < 4; ++i) {
    sandboxes.push_back(engine_.create({}));
    shell(*sandboxes[i], "big=$(head -c 20000000 /dev/zero | tr '\\0' x); echo ${#big}");
    shell(*sandboxes[i], "unset big; a=1");
  }
  // Each had 60 MiB; files of images rest, of at most 64 together.
  EXPECT_TRUE(within_a_minute([&] { return file_kib() < begin + (80 << 10); }))
      << file_kib() << ", at first " << begin;
  for (const auto& sandbox : sandboxes) {
    EXPECT_EQ(shell(*sandbox,
                    "echo $a ${big-none}; big=$(head -c 9000000 /dev/zero | tr '\\0' y); echo "
                    "${#big} $(tr -d y <<<$big)"),
              "1 none\n9000000\n");
  }
}

TEST_F(IdleMemory, OfAShellHoldsNoImage) {
  const auto first = engine_.create({});
  shell(*first, "first=1");
  const std::uint64_t begin = file_kib();
  std::vector<std::unique_ptr<Sandbox>> sandboxes;
  for (int i = 0; i < 8; ++i) sandboxes.push_back(engine_.create({}));
  const auto use_all = [&](const std::string& script) {
    for (const auto& sandbox : sandboxes) shell(*sandbox, script);
  };
  for (const char* script : {"a=1", "echo $a", "b=2; c=$a$b"}) {
    use_all(script);
    // Each of theirs is more; looking at what was a hole adds a page to the first one.
    EXPECT_TRUE(within_a_minute([&] { return file_kib() < begin + 60; })) << script;
  }
  for (const auto& sandbox : sandboxes) {
    EXPECT_EQ(shell(*sandbox->fork(), "echo $c; exit 3"), "12\n");
    EXPECT_EQ(shell(*sandbox, "echo $c; kill -KILL $$"), "12\n");
    EXPECT_EQ(shell(*sandbox, "echo $c"), "12\n") << "what it is brought back to";
  }
}

}  // namespace
}  // namespace cloche::testing
