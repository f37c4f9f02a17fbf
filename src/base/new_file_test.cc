// SPDX-License-Identifier: Apache-2.0
#include "base/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/faulty_files_testing.h"
#include "base/folder_names.h"
#include "base/temp_dir_testing.h"

namespace cloche {
namespace {

// Both kinds of file system: with files without a name, and without.
class NewFileTest : public ::testing::TestWithParam<bool> {
 protected:
  NewFileTest() { files_.wants_names = GetParam(); }

  Result<NewFile> begin(std::string_view content) {
    CLOCHE_ASSIGN(NewFile file, NewFile::create(files_, path_, 0666));
    CLOCHE_TRY(files_.write_all(file.fd(), std::as_bytes(std::span(content))));
    return file;
  }
  Result<void> put(std::string_view content) {
    CLOCHE_ASSIGN(NewFile file, begin(content));
    return file.publish();
  }
  std::string found() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names = *folder_names(folder_.path());
    std::ranges::sort(names);
    return names;
  }

  const TempDir folder_;
  std::string path_ = (folder_.path() / "a file").string();
  FaultyFiles files_;
};

using Names = std::vector<std::string>;

TEST_P(NewFileTest, HasItsNameOnceItIsPublished) {
  {
    auto file = begin("first");
    ASSERT_TRUE(file);
    EXPECT_EQ(names().size(), GetParam() ? 1U : 0U);
    EXPECT_EQ(found(), "");
    ASSERT_TRUE(file->publish());
  }
  EXPECT_EQ(found(), "first");
  ASSERT_TRUE(put("second"));
  EXPECT_EQ(found(), "second");
  EXPECT_TRUE(begin("never"));
  EXPECT_EQ(found(), "second");
  EXPECT_EQ(names(), Names{"a file"});
}

TEST_P(NewFileTest, HasTheModeThatIsAskedForWithoutThatOfTheMask) {
  const mode_t before = ::umask(027);
  ASSERT_TRUE(put("text"));
  ::umask(before);
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_P(NewFileTest, TakesThePlaceOfALinkAndOfNoFolder) {
  ASSERT_EQ(::symlink("nowhere", path_.c_str()), 0);
  ASSERT_TRUE(put("text"));
  EXPECT_EQ(found(), "text");
  EXPECT_EQ(names(), Names{"a file"});
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  EXPECT_EQ(put("text").error(), Errno::isdir);
  EXPECT_EQ(names(), Names{"a file"});
}

TEST_P(NewFileTest, MayHaveTheLongestName) {
  const std::string name(NAME_MAX, 'n');
  path_ = (folder_.path() / name).string();
  ASSERT_TRUE(put("first"));
  ASSERT_TRUE(put("second"));
  EXPECT_EQ(found(), "second");
  EXPECT_EQ(names(), Names{name});
}

TEST_P(NewFileTest, AFaultLeavesWhatWasThereAndNothingElse) {
  ASSERT_TRUE(put("old"));
  std::size_t failed = 0;
  for (;; ++failed) {
    ASSERT_LT(failed, 100U);
    files_.fail_at(failed, FaultyFiles::Fault::error, Errno::nospc);
    const Result<void> done = put("new");
    if (done) break;
    EXPECT_EQ(done.error(), Errno::nospc);
    EXPECT_EQ(found(), "old");
    EXPECT_EQ(names(), Names{"a file"});
  }
  EXPECT_GE(failed, 3U);
  EXPECT_EQ(found(), "new");
}

TEST_P(NewFileTest, WhatAKilledProcessLeavesGoesWhenTheFileIsNextMade) {
  const std::string other = path_ + ".0123456789abcdef.part.part";
  std::ofstream(other) << "of the user";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto file = begin("half of it");
    (void)::raise(SIGKILL);
    ::_exit(file ? 1 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(names().size(), GetParam() ? 2U : 1U);
  // What another one is writing at this time stays.
  auto busy = begin("slow");
  ASSERT_TRUE(busy);
  ASSERT_TRUE(put("quick"));
  EXPECT_EQ(found(), "quick");
  ASSERT_TRUE(busy->publish());
  EXPECT_EQ(found(), "slow");
  EXPECT_EQ(names(), (Names{"a file", std::filesystem::path(other).filename().string()}));
}

INSTANTIATE_TEST_SUITE_P(FileSystems, NewFileTest, ::testing::Bool());

}  // namespace
}  // namespace cloche
