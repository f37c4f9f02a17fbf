// SPDX-License-Identifier: Apache-2.0
// Every file call with every kind of argument that a hostile program may think of.
#include <gtest/gtest.h>

#include <random>

#include "kernel/linux/call.h"
#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::int32_t lowest_result = -4095;

// Words that lie at the edges of what a length, a descriptor, a pointer or a set of flags may be.
std::vector<std::uint32_t> hostile_words(Guest& guest) {
  return {0,
          1,
          2,
          3,
          7,
          0x1000,
          0x7fffffff,
          0x80000000,
          0xffffffff,
          0xffffff9c,
          0xfffff000,
          1024,
          Guest::memory_bytes,
          Guest::memory_bytes - 1,
          Guest::memory_bytes - 8,
          guest.put("f"),
          guest.put(""),
          guest.put("/proc/self/fd/3"),
          guest.put("../../../../.."),
          guest.put(std::string(300, 'x'))};
}

// Would sleep for ever, as it should: a fifo without its other end, a lock that this process itself
// holds by another owner.
bool may_sleep(const Entry& entry) {
  return std::string_view(entry.name) == "flock" || std::string_view(entry.name) == "fcntl64";
}

TEST(linux_hostile, every_file_call_survives_any_arguments) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    std::mt19937 random(7);
    constexpr int rounds = 300;
    int calls = 0, successes = 0;
    for (const auto family : {fd_calls(), transfer_calls(), space_calls(), path_calls(),
                              attribute_calls(), directory_calls()}) {
      for (const Entry& entry : family) {
        if (may_sleep(entry)) continue;
        for (int round = 0; round < rounds; ++round) {
          // There is always something to work on, and the calls before may have written over the
          // texts.
          guest.reset();
          if (guest.call(nr::fcntl, 3, 1) < 0) {
            guest.call(nr::chdir, guest.put("/workspace"));
            guest.open("f", o_creat | o_rdwr);
            guest.open("/workspace", o_directory);
          }
          const std::vector<std::uint32_t> words = hostile_words(guest);
          std::uniform_int_distribution<std::size_t> any(0, words.size() - 1);
          std::array<std::uint32_t, 6> arguments{};
          for (std::uint32_t& word : arguments) word = words[any(random)];
          const std::int32_t result = guest.call_words(entry.number, arguments);
          EXPECT_GE(result, lowest_result) << entry.name;
          ++calls;
          successes += result >= 0 ? 1 : 0;
        }
      }
    }
    // Not all of it is turned away at the door.
    EXPECT_GT(successes, calls / 50);
    guest.reset();
    EXPECT_GE(guest.open("/tmp/after", o_creat | o_rdwr), 0);
  });
}

TEST(linux_hostile, names_lead_nowhere_else) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    EXPECT_EQ(guest.link_target("/../../../proc/self/root"), "/");
    std::string deep;
    for (int i = 0; i < 1300; ++i) deep += "../";
    EXPECT_EQ(guest.call(nr::chdir, guest.put(deep)), 0);
    EXPECT_EQ(guest.open(std::string(4095, '/')) >= 0, true);
    EXPECT_EQ(guest.open(std::string(4096, '/')), -ENAMETOOLONG);
    guest.call(nr::chdir, guest.put("/workspace"));
    guest.call(nr::symlinkat, guest.put("b"), at_cwd, guest.put("a"));
    guest.call(nr::symlinkat, guest.put("a"), at_cwd, guest.put("b"));
    EXPECT_EQ(guest.open("a"), -ELOOP);
    const std::int32_t fd = guest.open("f", o_creat | o_rdwr);
    EXPECT_EQ(guest.call(nr::pwrite64, fd, guest.put("x"), 1, 0xffffffff, 0x7fffffff), -EFBIG);
    EXPECT_EQ(guest.call(nr::ftruncate, fd, 0, 1), 0);
    EXPECT_EQ(guest.read(fd, 4), std::string(4, '\0'));
  });
}

}  // namespace
}  // namespace cloche::kernel::lnx
