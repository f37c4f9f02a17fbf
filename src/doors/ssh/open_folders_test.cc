// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/open_folders.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace cloche::ssh {
namespace {

using Share = std::optional<OpenFolders::Share>;

class OpenFoldersTest : public ::testing::Test {
 protected:
  // All of them are there for that sandbox, and no more.
  void expect_all_free(const void* whose) {
    EXPECT_TRUE(folders_->take("", whose, OpenFolders::sandbox_limit));
    EXPECT_FALSE(folders_->take("", whose, OpenFolders::sandbox_limit + 1));
  }

  const std::shared_ptr<OpenFolders> folders_ = std::make_shared<OpenFolders>();
  const int one_ = 1, other_ = 2;
};

TEST_F(OpenFoldersTest, EachSandboxHasItsOwn) {
  Share all = folders_->take("", &one_, OpenFolders::sandbox_limit);
  ASSERT_TRUE(all);
  EXPECT_FALSE(folders_->take("", &one_, 1));
  expect_all_free(&other_);
  all.reset();
  expect_all_free(&one_);
}

TEST_F(OpenFoldersTest, AllTogetherHaveALimit) {
  constexpr std::size_t owners = OpenFolders::limit / OpenFolders::sandbox_limit + 1;
  const std::array<char, owners + 1> whose{};
  std::vector<Share> shares;
  for (std::size_t i = 0; i + 1 < owners; ++i)
    shares.push_back(folders_->take("", &whose[i], OpenFolders::sandbox_limit));
  EXPECT_FALSE(folders_->take("", &whose[owners], OpenFolders::sandbox_limit));
  shares.clear();
  expect_all_free(&whose[owners]);
}

TEST_F(OpenFoldersTest, AnOwnerLeavesRoomToOthers) {
  constexpr std::size_t sandboxes = OpenFolders::owner_limit / OpenFolders::sandbox_limit;
  const std::array<char, sandboxes + 1> whose{};
  std::vector<Share> shares;
  for (std::size_t i = 0; i < sandboxes; ++i)
    shares.push_back(folders_->take("me", &whose[i], OpenFolders::sandbox_limit));
  EXPECT_FALSE(folders_->take("me", &whose[sandboxes], OpenFolders::sandbox_limit));
  EXPECT_TRUE(FoldersOfOwner(*folders_, "you").take(&one_, OpenFolders::sandbox_limit));
  shares.pop_back();
  EXPECT_TRUE(FoldersOfOwner(*folders_, "me").take(&one_, OpenFolders::sandbox_limit));
}

TEST_F(OpenFoldersTest, EmptyFoldersAreGivenBackInAnyOrder) {
  Share first = folders_->take("", &one_, 0);
  Share second = folders_->take("", &one_, 0);
  Share some = folders_->take("", &one_, 3);
  ASSERT_TRUE(first && second && some);
  some.reset();
  first.reset();
  second.reset();
  expect_all_free(&one_);
}

TEST_F(OpenFoldersTest, AShareThatMovedIsGivenBackOnce) {
  Share from = folders_->take("", &one_, 5);
  ASSERT_TRUE(from);
  OpenFolders::Share to = *std::move(from);
  from.reset();
  EXPECT_FALSE(folders_->take("", &one_, OpenFolders::sandbox_limit));
  to = {};
  expect_all_free(&one_);
}

}  // namespace
}  // namespace cloche::ssh
