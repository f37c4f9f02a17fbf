// SPDX-License-Identifier: Apache-2.0
#include "vfs/tree_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/temp_dir_testing.h"
#include "vfs/hostfs.h"
#include "vfs/memfs_testing.h"

namespace cloche::vfs {
namespace {

using Depth = TreeWatch::Depth;

std::string_view word_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::created: return "created ";
    case ChangeKind::written: return "written ";
    case ChangeKind::removed: return "removed ";
    case ChangeKind::renamed: return "renamed ";
    case ChangeKind::attributes: break;
  }
  return "attributes ";
}

class TreeWatchTest : public MemFsTest {
 protected:
  std::unique_ptr<TreeWatch> watch(Ino dir, Depth depth) {
    return *TreeWatch::make(Node(*fs_, dir), depth, [this] { ++told_; });
  }
  static std::vector<std::string> words(TreeWatch& watch) {
    const std::vector<PathChange> changes = *watch.take();
    std::vector<std::string> found;
    for (const PathChange& change : changes)
      found.push_back(std::string(word_of(change.kind)) + change.path);
    return found;
  }
  using Words = std::vector<std::string>;

  int told_ = 0;
};

TEST_F(TreeWatchTest, ADirectoryTellsOfItsNamesAndTheirContent) {
  const Ino dir = make(*fs_, "dir", FileType::directory);
  const auto seen = watch(dir, Depth::directory);
  const Ino file = make(*fs_, "f", FileType::regular, dir);
  const auto io = *fs_->open(file, Access::read_write);
  ASSERT_TRUE(io->write(0, bytes("text")).ok());
  ASSERT_TRUE(io->append(bytes("more")).ok());
  ASSERT_TRUE(fs_->set_attr(file, {.mode = 0600}).ok());
  ASSERT_TRUE(fs_->set_attr(file, {.size = 1}).ok());
  ASSERT_TRUE(fs_->symlink(dir, "s", "target", {}).ok());
  ASSERT_TRUE(fs_->link(file, dir, "g").ok());
  ASSERT_TRUE(fs_->unlink(dir, "s").ok());
  EXPECT_EQ(words(*seen), (Words{"created f", "written f", "attributes f", "written f", "created s",
                                 "created g", "removed s"}));
  EXPECT_EQ(words(*seen), Words{});
}

TEST_F(TreeWatchTest, WhatIsElsewhereIsNotTold) {
  const Ino dir = make(*fs_, "dir", FileType::directory);
  const Ino below = make(*fs_, "below", FileType::directory, dir);
  const auto seen = watch(dir, Depth::directory);
  (void)write(*fs_, "other", "text");
  (void)make(*fs_, "deep", FileType::regular, below);
  EXPECT_EQ(words(*seen), Words{});
  EXPECT_EQ(told_, 0);
}

TEST_F(TreeWatchTest, ATreeTellsOfNewDirectoriesToo) {
  const Ino dir = make(*fs_, "dir", FileType::directory);
  const auto seen = watch(dir, Depth::tree);
  const Ino a = make(*fs_, "a", FileType::directory, dir);
  const Ino b = make(*fs_, "b", FileType::directory, a);
  (void)make(*fs_, "f", FileType::regular, b);
  ASSERT_TRUE(fs_->unlink(b, "f").ok());
  ASSERT_TRUE(fs_->rmdir(a, "b").ok());
  EXPECT_EQ(words(*seen),
            (Words{"created a", "created a/b", "created a/b/f", "removed a/b/f", "removed a/b"}));
}

TEST_F(TreeWatchTest, AMoveIsRenamedThenCreated) {
  const Ino dir = make(*fs_, "dir", FileType::directory);
  (void)make(*fs_, "a", FileType::regular, dir);
  (void)make(*fs_, "b", FileType::regular, dir);
  const auto seen = watch(dir, Depth::directory);
  ASSERT_TRUE(fs_->rename(dir, "a", dir, "b", RenameMode::replace).ok());
  EXPECT_EQ(words(*seen), (Words{"renamed a", "created b"}));
  ASSERT_TRUE(fs_->rename(dir, "b", 1, "out", RenameMode::replace).ok());
  EXPECT_EQ(words(*seen), Words{"renamed b"});
  ASSERT_TRUE(fs_->rename(1, "out", dir, "in", RenameMode::replace).ok());
  EXPECT_EQ(words(*seen), Words{"created in"});
  (void)make(*fs_, "c", FileType::directory, dir);
  ASSERT_TRUE(fs_->rename(dir, "c", dir, "in", RenameMode::exchange).ok());
  EXPECT_EQ(words(*seen),
            (Words{"created c", "renamed c", "created in", "renamed in", "created c"}));
}

TEST_F(TreeWatchTest, TheDirectoryItselfMovesAndGoes) {
  const Ino dir = make(*fs_, "dir", FileType::directory);
  const auto seen = watch(dir, Depth::tree);
  ASSERT_TRUE(fs_->rename(1, "dir", 1, "moved", RenameMode::replace).ok());
  ASSERT_TRUE(fs_->set_attr(dir, {.mode = 0700}).ok());
  (void)make(*fs_, "f", FileType::regular, dir);
  ASSERT_TRUE(fs_->unlink(dir, "f").ok());
  EXPECT_FALSE(seen->is_over());
  ASSERT_TRUE(fs_->rmdir(1, "moved").ok());
  EXPECT_TRUE(seen->is_over());
  EXPECT_EQ(words(*seen),
            (Words{"renamed .", "attributes .", "created f", "removed f", "removed ."}));
}

TEST_F(TreeWatchTest, ADirectoryThatIsReplacedIsGone) {
  const Ino dir = make(*fs_, "dir", FileType::directory);
  (void)make(*fs_, "other", FileType::directory);
  const auto seen = watch(dir, Depth::tree);
  ASSERT_TRUE(fs_->rename(1, "other", 1, "dir", RenameMode::replace).ok());
  EXPECT_TRUE(seen->is_over());
  EXPECT_EQ(words(*seen), Words{"removed ."});
}

TEST_F(TreeWatchTest, ItTellsOnceUntilItIsTaken) {
  const auto seen = watch(1, Depth::tree);
  (void)make(*fs_, "a");
  (void)make(*fs_, "b");
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(words(*seen).size(), 2u);
  (void)make(*fs_, "c");
  EXPECT_EQ(told_, 2);
}

TEST_F(TreeWatchTest, AFloodIsToldAsSuchAndWhatComesAfterItIsKept) {
  const auto seen = watch(1, Depth::tree);
  const Ino a = make(*fs_, "a");
  const Ino b = make(*fs_, "b");
  const std::size_t fits = TreeWatch::pending_max_bytes / sizeof(PathChange);
  for (std::size_t i = 0; i <= fits; ++i)
    ASSERT_TRUE(fs_->set_attr(i % 2 == 0 ? a : b, {.mode = 0600}).ok());
  EXPECT_EQ(seen->take().error(), Errno::overflow);
  (void)make(*fs_, "c");
  EXPECT_EQ(words(*seen), Words{"created c"});
  EXPECT_EQ(told_, 2);
}

TEST_F(TreeWatchTest, OnlyDirectoriesOfWhatTellsAreWatched) {
  EXPECT_EQ(TreeWatch::make(Node(*fs_, make(*fs_, "f")), Depth::tree, nullptr).error(),
            Errno::notdir);
  const TempDir folder;
  const auto host = make_fs<HostFs>(folder.path(), HostFs::Options{});
  EXPECT_EQ(TreeWatch::make(Node(*host, host->root()), Depth::tree, nullptr).error(),
            Errno::notsup);
}

TEST_F(TreeWatchTest, AForkIsNotWatched) {
  const auto seen = watch(1, Depth::tree);
  const auto fork = fs_->fork(fs_->quota());
  (void)make(*fork, "f");
  EXPECT_EQ(words(*seen), Words{});
}

TEST_F(TreeWatchTest, AnEndedWatchIsNotTold) {
  auto seen = watch(1, Depth::tree);
  const auto other = watch(1, Depth::tree);
  seen.reset();
  (void)make(*fs_, "f");
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(words(*other), Words{"created f"});
}

}  // namespace
}  // namespace cloche::vfs
