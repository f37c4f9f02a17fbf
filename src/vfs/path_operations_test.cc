// SPDX-License-Identifier: Apache-2.0
#include "vfs/path_operations.h"

#include <gtest/gtest.h>

#include <string>

#include "base/temp_dir_testing.h"
#include "vfs/checked_operations.h"
#include "vfs/glob_match.h"
#include "vfs/hostfs.h"
#include "vfs/memfs.h"

namespace cloche::vfs {
namespace {

class FileOpsTest : public ::testing::Test {
 protected:
  FileOpsTest() {
    EXPECT_TRUE(chown(space_.root(), 1000, 1000, root_credentials()).ok());
    EXPECT_TRUE(files_.make_dir("/top").ok());
  }
  void write(std::string_view path, std::string_view content = "") {
    ASSERT_TRUE(files_.write_file(path, content, 0644, Parents::make).ok()) << path;
  }
  std::string glob(std::string_view pattern) {
    std::string out;
    const auto paths = files_.glob(pattern, 1000);
    for (const std::string& path : *paths) out += path + " ";
    return out;
  }

  TypedFsRef<MemFs> fs_ = make_fs<MemFs>(Quota{}, host_clock());
  Namespace space_{fs_};
  PathOperations files_{space_, space_.root(), {}};
};

TEST_F(FileOpsTest, WritesAndReadsWholeFiles) {
  write("/top/a/b/f", "hello");
  EXPECT_EQ(*files_.read_file("top/a/b/f", 5), "hello");
  EXPECT_EQ(files_.read_file("/top/a/b/f", 4).error(), Errno::fbig);
  EXPECT_EQ(files_.read_file("/top", 4).error(), Errno::isdir);
  EXPECT_EQ(files_.read_file("/none", 4).error(), Errno::noent);
  write("/top/a/b/f", "x");
  EXPECT_EQ(*files_.read_file("/top/a/b/f", 5), "x");
  ASSERT_TRUE(
      files_.write_file("/top/a/b/f", "yz", 0644, Parents::must_exist, WriteMode::append).ok());
  EXPECT_EQ(*files_.read_file("/top/a/b/f", 5), "xyz");
  EXPECT_EQ(files_.write_file("/nodir/f", "x").error(), Errno::noent);
  EXPECT_EQ(files_.write_file("/top/", "x").error(), Errno::isdir);
}

// However many ways "**" has to lead there, each place is looked at once for each part.
TEST_F(FileOpsTest, AGlobTakesTimeInProportion) {
  std::string path = "/top";
  for (int i = 0; i < 40; ++i) path += "/d";
  write(path + "/f");
  std::string stars;
  for (int i = 0; i < 20; ++i) stars += "**/";
  EXPECT_EQ(glob("/top/" + stars + "none"), "");
  EXPECT_EQ(glob("/top/" + stars + "f"), path + "/f ");
}

// A path is as long as its place is deep: those of a deep tree are bounded together.
TEST_F(FileOpsTest, AGlobTakesMemoryInProportion) {
  const std::string name(250, 'd');
  Node folder = *space_.lookup(space_.root(), "/top", Follow::yes, root_credentials());
  for (int i = 0; i < 3000; ++i)
    folder = *create(folder, name, FileType::directory, 0755, root_credentials());
  EXPECT_EQ(files_.glob("/top/**/none", 1000).error(), Errno::fbig);
  EXPECT_EQ(files_.glob("/top/**", 1'000'000).error(), Errno::fbig);
  EXPECT_EQ(files_.glob("/top/*", 1000)->size(), 1U);
}

TEST_F(FileOpsTest, AFileIsMadeWithContentThatItsModeForbidsToWriteLater) {
  ASSERT_TRUE(files_.write_file("/top/locked", "x", 0444, Parents::make).ok());
  EXPECT_EQ(*files_.read_file("/top/locked", 5), "x");
  EXPECT_EQ(files_.stat("/top/locked", Follow::yes)->stat.mode & 07777, 0444U);
  const auto opened = files_.open_file("/top/secret", Access::read_write, 0, Existing::error);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(*(*opened)->write(0, std::as_bytes(std::span("y", 1))), 1U);
}

TEST_F(FileOpsTest, WritesTheWholeFileOrNothingOfIt) {
  fs_->set_quota({10, 100});
  EXPECT_EQ(files_.write_file("/f", "0123456789ab").error(), Errno::nospc);
  EXPECT_EQ(files_.stat("/f").error(), Errno::noent);
  ASSERT_TRUE(files_.write_file("/f", "0123456789").ok());
  const std::uint64_t inode = files_.stat("/f")->stat.ino;
  EXPECT_EQ(files_.write_file("/f", "0123456789ab").error(), Errno::nospc);
  EXPECT_EQ(files_.write_file("/f", "x", 0644, Parents::must_exist, WriteMode::append).error(),
            Errno::nospc);
  EXPECT_EQ(*files_.read_file("/f", 20), "0123456789");
  // It needs no room beside what is there, and stays the file that others have open.
  ASSERT_TRUE(files_.write_file("/f", "abcdefghij").ok());
  EXPECT_EQ(*files_.read_file("/f", 20), "abcdefghij");
  ASSERT_TRUE(files_.write_file("/f", "abc").ok());
  EXPECT_EQ(*files_.read_file("/f", 20), "abc");
  ASSERT_TRUE(files_.write_file("/f", "").ok());
  EXPECT_EQ(files_.stat("/f")->stat.size, 0U);
  EXPECT_EQ(files_.stat("/f")->stat.ino, inode);
}

TEST_F(FileOpsTest, ListsByName) {
  write("/top/b");
  write("/top/a", "12");
  ASSERT_TRUE(files_.symlink("a", "/top/c").ok());
  const auto entries = *files_.list("/top", 3);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].stat.size, 2u);
  EXPECT_EQ(entries[2].target, "a");
  EXPECT_EQ(files_.list("/top", 2).error(), Errno::fbig);
  EXPECT_EQ(files_.list("/top/a", 2).error(), Errno::notdir);
}

TEST_F(FileOpsTest, RemovesTreesHoweverDeep) {
  Node at = space_.root();
  for (int i = 0; i < 10'000; ++i) at = *create(at, "d", FileType::directory, 0755, {});
  ASSERT_TRUE(create(at, "f", FileType::regular, 0644, {}).ok());
  at = {};
  EXPECT_EQ(files_.remove("/d").error(), Errno::notempty);
  ASSERT_TRUE(files_.remove_all("/d").ok());
  EXPECT_EQ(files_.stat("/d").error(), Errno::noent);
  EXPECT_EQ(fs_->usage().inodes, 1u);
  EXPECT_EQ(files_.remove_all("/").error(), Errno::busy);
  EXPECT_EQ(files_.remove_all("/top/.").error(), Errno::inval);
}

TEST_F(FileOpsTest, RemovesLinksAndNotWhatTheyLeadTo) {
  write("/top/keep/f");
  ASSERT_TRUE(files_.make_dir("/tmp").ok());
  ASSERT_TRUE(files_.symlink("/top/keep", "/tmp/l").ok());
  ASSERT_TRUE(files_.remove_all("/tmp").ok());
  EXPECT_TRUE(files_.stat("/top/keep/f").ok());
}

TEST_F(FileOpsTest, StopsAtMounts) {
  ASSERT_TRUE(files_.make_dir("/top/m").ok());
  const auto other = make_fs<MemFs>(Quota{}, host_clock());
  ASSERT_TRUE(space_.mount_at("/top/m", other, "o").ok());
  ASSERT_TRUE(other->create(1, "in", {}).ok());
  EXPECT_EQ(files_.remove_all("/top").error(), Errno::busy);
  EXPECT_EQ(files_.remove("/top/m").error(), Errno::busy);
  EXPECT_EQ(files_.rename("/top/m", "/x").error(), Errno::busy);
  EXPECT_TRUE(files_.stat("/top/m/in").ok());
}

TEST_F(FileOpsTest, StopsAtFilesOfTheHost) {
  const TempDir host;
  host.write("f", "of the host");
  ASSERT_TRUE(
      space_
          .mount_at("/top/m",
                    make_fs<HostFs>(host.path() / "f", HostFs::Options{HostAccess::writable}), "o")
          .ok());
  write("/top/x");
  EXPECT_EQ(files_.remove_all("/top").error(), Errno::busy);
  EXPECT_EQ(files_.remove_all("/top/m").error(), Errno::busy);
  EXPECT_EQ(files_.remove("/top/m").error(), Errno::busy);
  EXPECT_EQ(files_.rename("/top/m", "/x").error(), Errno::busy);
  write("/y");
  EXPECT_EQ(files_.rename("/y", "/top/m").error(), Errno::busy);
  EXPECT_EQ(*files_.read_file("/top/m", 100), "of the host");
  EXPECT_EQ(host.read("f"), "of the host");
}

TEST_F(FileOpsTest, RenamesAndMakesDirectories) {
  write("/top/f", "x");
  ASSERT_TRUE(files_.rename("/top/f", "/g").ok());
  EXPECT_EQ(*files_.read_file("/g", 9), "x");
  EXPECT_EQ(files_.rename("/g", "/h/").error(), Errno::notdir);
  ASSERT_TRUE(files_.make_dir("/x/y/z", 0755, Parents::make).ok());
  ASSERT_TRUE(files_.make_dir("/x/y/z", 0755, Parents::make).ok());
  EXPECT_EQ(files_.make_dir("/x/y/z").error(), Errno::exist);
  ASSERT_TRUE(files_.chmod("/g", 0600).ok());
  EXPECT_EQ(files_.stat("/g")->stat.mode, 0600u);
}

TEST_F(FileOpsTest, Globs) {
  for (const auto* path :
       {"/p/a.py", "/p/b.py", "/p/c.txt", "/p/.h.py", "/p/sub/d.py", "/p/sub/deep/e.py"})
    write(path);
  ASSERT_TRUE(files_.symlink("..", "/p/sub/up").ok());
  EXPECT_EQ(glob("/p/*.py"), "/p/a.py /p/b.py ");
  EXPECT_EQ(glob("p/[!a].py"), "p/b.py ");
  EXPECT_EQ(glob("/p/**/*.py"), "/p/a.py /p/b.py /p/sub/d.py /p/sub/deep/e.py ");
  EXPECT_EQ(glob("/p/.*.py"), "/p/.h.py ");
  EXPECT_EQ(glob("/p/*/d.py"), "/p/sub/d.py ");
  EXPECT_EQ(glob("/p/sub/up/c.txt"), "/p/sub/up/c.txt ");
  EXPECT_EQ(glob("/none/*"), "");
  EXPECT_EQ(files_.glob("/p/**", 2).error(), Errno::fbig);
}

TEST(GlobMatch, MatchesAsTheShellDoes) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(glob_match("a*b*c", "aXbYbZ"));
  EXPECT_TRUE(glob_match("[a-c]?[]x]", "bq]"));
  EXPECT_FALSE(glob_match("[^a-c]", "b"));
  EXPECT_TRUE(glob_match("\\*", "*"));
  EXPECT_FALSE(glob_match("\\*", "x"));
  EXPECT_TRUE(glob_match("[", "["));
  EXPECT_TRUE(glob_match("[ab", "[ab"));
  // Exponential for a matcher that tries every star.
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(255, 'a')));
}

}  // namespace
}  // namespace cloche::vfs
