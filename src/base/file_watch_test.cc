// SPDX-License-Identifier: Apache-2.0
#include "base/file_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cloche {
namespace {

class FileWatchTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(FileWatchTest, AChangeIsToldOnceAndWhenItHasSettled) {
  write("file", "one");
  FileWatch watch(folder_ / "file");
  EXPECT_FALSE(watch.has_changed());
  write("file", "two and more");
  EXPECT_FALSE(watch.has_changed());  // it may go on
  EXPECT_TRUE(watch.has_changed());
  EXPECT_FALSE(watch.has_changed());
}

TEST_F(FileWatchTest, WhatIsStillWrittenIsNotTold) {
  write("file", "one");
  FileWatch watch(folder_ / "file");
  std::string text;
  for (int i = 0; i < 5; ++i) {
    write("file", text += "more");
    EXPECT_FALSE(watch.has_changed());
  }
  EXPECT_TRUE(watch.has_changed());
}

TEST_F(FileWatchTest, AFileThatGoesAndOneThatComesHaveChanged) {
  write("file", "one");
  FileWatch watch(folder_ / "file");
  std::filesystem::remove(folder_ / "file");
  EXPECT_FALSE(watch.has_changed());
  EXPECT_TRUE(watch.has_changed());
  write("file", "one");
  EXPECT_FALSE(watch.has_changed());
  EXPECT_TRUE(watch.has_changed());
}

TEST_F(FileWatchTest, AFolderThatIsSwappedBehindALinkCounts) {
  for (const char* name : {"old", "new"}) {
    std::filesystem::create_directory(folder_ / name);
    write(std::string(name) + "/file", name);
  }
  std::filesystem::create_directory_symlink("old", folder_ / "now");
  FileWatch watch(folder_ / "now" / "file");
  std::filesystem::create_directory_symlink("new", folder_ / "next");
  std::filesystem::rename(folder_ / "next", folder_ / "now");
  EXPECT_FALSE(watch.has_changed());
  EXPECT_TRUE(watch.has_changed());
}

TEST(FileWatch, NoFileIsWatchedForNothing) {
  FileWatch watch("");
  EXPECT_FALSE(watch.has_changed());
  EXPECT_FALSE(watch.has_changed());
}

}  // namespace
}  // namespace cloche
