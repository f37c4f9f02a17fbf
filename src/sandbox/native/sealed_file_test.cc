// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/sealed_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace cloche::sandbox {
namespace {

constexpr int seal_exec = 0x20;  // F_SEAL_EXEC, from Linux 6.3

TEST(SealedFile, NobodyWritesToIt) {
  const auto file = make_sealed_file("text");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(::write(file->get(), "x", 1), -1);
  EXPECT_EQ(::ftruncate(file->get(), 0), -1);
}

// A guest that is this process's user is its owner, and other sandboxes execute the same file.
TEST(SealedFile, NobodyTakesAwayThatItMayBeExecuted) {
  const UniqueFd trial(::memfd_create("trial", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (::fcntl(trial.get(), F_ADD_SEALS, seal_exec) != 0 && errno == EINVAL)
    GTEST_SKIP() << "this kernel has no such seal";
  const auto file = make_sealed_file("text", FileUse::execute);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(::fchmod(file->get(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  struct stat of{};
  ASSERT_EQ(::fstat(file->get(), &of), 0);
  EXPECT_EQ(of.st_mode & 0111, mode_t{0111});
}

}  // namespace
}  // namespace cloche::sandbox
