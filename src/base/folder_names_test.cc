// SPDX-License-Identifier: Apache-2.0
#include "base/folder_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/temp_dir_testing.h"

namespace cloche {
namespace {

TEST(FolderNames, AreThoseOfAllThatIsInIt) {
  const TempDir folder;
  EXPECT_TRUE(folder_names(folder.path())->empty());
  std::ofstream(folder.path() / "file") << "x";
  std::filesystem::create_directory(folder.path() / ".hidden");
  std::filesystem::create_symlink("nowhere", folder.path() / "link");
  auto names = folder_names(folder.path());
  ASSERT_TRUE(names);
  std::ranges::sort(*names);
  EXPECT_EQ(*names, (std::vector<std::string>{".hidden", "file", "link"}));
}

TEST(FolderNames, OfWhatIsNoFolderAreAnError) {
  const TempDir folder;
  EXPECT_EQ(folder_names(folder.path() / "none").error(), Errno::noent);
  std::ofstream(folder.path() / "file") << "x";
  EXPECT_EQ(folder_names(folder.path() / "file").error(), Errno::notdir);
}

}  // namespace
}  // namespace cloche
