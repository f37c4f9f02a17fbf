// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/file_locks.h"

#include <gtest/gtest.h>

#include <limits>

namespace cloche::kernel {
namespace {

constexpr LockKey file{1, 7};
constexpr std::uint64_t end = std::numeric_limits<std::uint64_t>::max();

FileLock lock(LockOwner owner, LockType type, std::uint64_t first = 0, std::uint64_t last = end) {
  return {owner, type, {first, last}};
}

class FileLocksTest : public testing::Test {
 protected:
  bool take(const FileLock& wanted) { return locks.try_lock(file, wanted).ok(); }

  FileLocks locks;
  LockOwner one = LockOwner::of_process(10), two = LockOwner::of_process(20);
};

TEST_F(FileLocksTest, readers_share_and_a_writer_is_alone) {
  EXPECT_TRUE(take(lock(one, LockType::shared)));
  EXPECT_TRUE(take(lock(two, LockType::shared)));
  EXPECT_FALSE(take(lock(two, LockType::exclusive)));
  ASSERT_TRUE(locks.unlock(file, one));
  EXPECT_TRUE(take(lock(two, LockType::exclusive)));
  EXPECT_EQ(locks.try_lock(file, lock(one, LockType::shared)).error(), Errno::again);
}

TEST_F(FileLocksTest, only_what_overlaps_conflicts) {
  EXPECT_TRUE(take(lock(one, LockType::exclusive, 0, 9)));
  EXPECT_TRUE(take(lock(two, LockType::exclusive, 10, 19)));
  EXPECT_FALSE(take(lock(two, LockType::shared, 9, 9)));
  const auto held = locks.conflict(file, lock(two, LockType::shared, 5, 30));
  ASSERT_TRUE(held);
  EXPECT_EQ(held->owner, one);
  EXPECT_FALSE(locks.conflict({1, 8}, lock(two, LockType::exclusive)));
}

TEST_F(FileLocksTest, unlocking_the_middle_leaves_two) {
  EXPECT_TRUE(take(lock(one, LockType::exclusive, 0, 99)));
  ASSERT_TRUE(locks.unlock(file, one, {40, 59}));
  EXPECT_EQ(locks.size(), 2U);
  EXPECT_TRUE(take(lock(two, LockType::exclusive, 40, 59)));
  EXPECT_FALSE(take(lock(two, LockType::exclusive, 39, 39)));
  EXPECT_FALSE(take(lock(two, LockType::exclusive, 60, 60)));
}

TEST_F(FileLocksTest, neighbours_of_a_kind_become_one) {
  for (std::uint64_t at = 0; at < 100; ++at) EXPECT_TRUE(take(lock(one, LockType::shared, at, at)));
  EXPECT_EQ(locks.size(), 1U);
  // A part of another kind divides it in three, and joins again.
  EXPECT_TRUE(take(lock(one, LockType::exclusive, 50, 50)));
  EXPECT_EQ(locks.size(), 3U);
  EXPECT_TRUE(take(lock(one, LockType::shared, 50, 50)));
  EXPECT_EQ(locks.size(), 1U);
}

TEST_F(FileLocksTest, flock_and_record_locks_do_not_see_each_other) {
  const auto* const a = reinterpret_cast<const File*>(0x10);
  const auto* const b = reinterpret_cast<const File*>(0x20);
  EXPECT_TRUE(take(lock(LockOwner::of_flock(a), LockType::exclusive)));
  EXPECT_TRUE(take(lock(one, LockType::exclusive)));
  EXPECT_FALSE(take(lock(LockOwner::of_flock(b), LockType::shared)));
  EXPECT_FALSE(take(lock(LockOwner::of_description(b), LockType::shared)));
  locks.file_gone(a);
  EXPECT_TRUE(take(lock(LockOwner::of_flock(b), LockType::shared)));
}

TEST_F(FileLocksTest, a_flock_that_cannot_be_converted_is_lost) {
  const LockOwner a = LockOwner::of_flock(reinterpret_cast<const File*>(0x10));
  const LockOwner b = LockOwner::of_flock(reinterpret_cast<const File*>(0x20));
  EXPECT_TRUE(take(lock(a, LockType::shared)));
  EXPECT_TRUE(take(lock(b, LockType::shared)));
  EXPECT_FALSE(take(lock(a, LockType::exclusive)));
  EXPECT_TRUE(take(lock(b, LockType::exclusive)));
}

TEST_F(FileLocksTest, a_process_loses_what_it_closes_and_all_at_its_end) {
  EXPECT_TRUE(take(lock(one, LockType::exclusive)));
  EXPECT_TRUE(locks.try_lock({1, 8}, lock(one, LockType::exclusive)));
  locks.process_closed(10, file);
  EXPECT_TRUE(take(lock(two, LockType::exclusive)));
  locks.process_ended(10);
  EXPECT_TRUE(locks.try_lock({1, 8}, lock(two, LockType::exclusive)));
  EXPECT_EQ(locks.size(), 2U);
}

TEST_F(FileLocksTest, there_is_an_end_to_locks) {
  std::uint64_t at = 0;
  while (take(lock(one, LockType::exclusive, at, at))) at += 2;
  EXPECT_EQ(locks.try_lock(file, lock(one, LockType::exclusive, at, at)).error(), Errno::nolck);
  EXPECT_LE(locks.size(), FileLocks::max_locks);
  EXPECT_GE(locks.size(), FileLocks::max_locks - 2);
  ASSERT_TRUE(locks.unlock(file, one));
  EXPECT_EQ(locks.size(), 0U);
}

}  // namespace
}  // namespace cloche::kernel
