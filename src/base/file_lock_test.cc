// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/backoff.h"
#include "base/temp_dir_testing.h"
#include "base/unique_fd.h"

namespace cloche {
namespace {

using std::chrono::milliseconds;

class FileLock : public ::testing::Test {
 protected:
  UniqueFd open() const {
    return UniqueFd(::open((folder_.path() / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  cloche::TempDir folder_;
};

TEST_F(FileLock, AFreeOneIsTakenWithoutAQuestion) {
  const UniqueFd file = open();
  const auto nobody = [] {
    ADD_FAILURE() << "it was asked";
    return true;
  };
  EXPECT_EQ(take_file_lock(file.get(), nobody), FileLockEnd::taken);
  const UniqueFd other = open();
  EXPECT_EQ(take_file_lock(other.get(), [] { return true; }), FileLockEnd::given_up);
}

TEST_F(FileLock, WhoWaitsGetsItWhenItIsFree) {
  UniqueFd holder = open();
  ASSERT_EQ(take_file_lock(holder.get(), {}), FileLockEnd::taken);
  int looks = 0;
  const auto look = [&] {
    if (++looks == 3) holder.reset();
    return looks > 100;
  };
  const UniqueFd waiting = open();
  EXPECT_EQ(take_file_lock(waiting.get(), look), FileLockEnd::taken);
  EXPECT_EQ(looks, 3);
}

TEST_F(FileLock, WhatHasNoLocksRefusesIt) {
  EXPECT_EQ(take_file_lock(-1, [] { return false; }), FileLockEnd::refused);
  EXPECT_EQ(errno, EBADF);
}

TEST(Backoff, PausesGrowUpToTheLongest) {
  Backoff backoff(milliseconds(3), milliseconds(10));
  EXPECT_EQ(backoff.next(), milliseconds(3));
  EXPECT_EQ(backoff.next(), milliseconds(6));
  EXPECT_EQ(backoff.next(), milliseconds(10));
  EXPECT_EQ(backoff.next(), milliseconds(10));
}

}  // namespace
}  // namespace cloche
