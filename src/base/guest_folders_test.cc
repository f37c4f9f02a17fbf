// SPDX-License-Identifier: Apache-2.0
#include "base/guest_folders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/temp_dir_testing.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

class GuestFoldersTest : public ::testing::Test {
 protected:
  GuestFoldersTest() {
    fs::create_directories(at("shared/sub/deep"));
    fs::create_directories(at("other"));
    root_.write("other/secret", "secret");
    root_.write("shared/file", "of the guest");
    root_.write("shared/sub/file", "below");
  }
  std::string at(const std::string& name) const { return root_.path() / name; }
  void link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, at(name));
  }
  // What is read there; the errno's name where it is refused.
  std::string read(const std::string& path) const {
    const auto found = folders_.open(path);
    if (!found) return std::string(errno_info(found.error().code()).name);
    UniqueFd file(::open(("/proc/self/fd/" + std::to_string(found->get())).c_str(), O_RDONLY));
    std::array<char, 64> text{};
    const ssize_t got = ::read(file.get(), text.data(), text.size());
    return got < 0 ? "folder" : std::string(text.data(), static_cast<std::size_t>(got));
  }

  const TempDir root_;
  GuestFolders folders_;
};

TEST_F(GuestFoldersTest, AreKeptForOtherProcesses) {
  GuestFolders later;
  later.keep_in(at("kept"));
  GuestFolders earlier;
  earlier.add_and_keep(at("shared"));
  earlier.keep_in(at("none/kept"));
  earlier.keep_in(at("kept"));
  earlier.add_and_keep(at("shared"));
  link(at("other"), "shared/out");
  folders_.keep_in(at("kept"));
  EXPECT_EQ(read(at("shared/out/secret")), "EACCES");
  EXPECT_FALSE(later.open(at("shared/out/secret")).ok());
  constexpr std::uintmax_t bytes = 24;
  earlier.add(at("other"));  // of what is not mounted in the end
  EXPECT_EQ(fs::file_size(at("kept")), bytes);

  fs::resize_file(at("kept"), bytes + 7);  // somebody was ended in the midst of it
  fs::create_directory(at("other/more"));
  link("../secret", "other/more/up");
  earlier.add_and_keep(at("other/more"));
  EXPECT_EQ(fs::file_size(at("kept")), 3 * bytes);
  EXPECT_EQ(read(at("other/more/up")), "EACCES");

  link(at("other"), "shared/sub/elsewhere");
  earlier.add_and_keep(at("shared/sub/elsewhere"));
  EXPECT_EQ(fs::file_size(at("kept")), 3 * bytes);
}

TEST_F(GuestFoldersTest, AreSoManyAtMostInTheirFile) {
  constexpr std::uintmax_t bytes = 24;
  root_.write("kept", std::string(GuestFolders::most_kept * bytes, 'x'));
  folders_.keep_in(at("kept"));
  folders_.add_and_keep(at("shared"));
  EXPECT_EQ(fs::file_size(at("kept")), (GuestFolders::most_kept / 2 + 1) * bytes);
  link(at("other"), "shared/out");
  GuestFolders later;
  later.keep_in(at("kept"));
  EXPECT_FALSE(later.open(at("shared/out/secret")).ok());
}

TEST_F(GuestFoldersTest, WhatIsNoFileOfThemIsLeftAlone) {
  fs::create_directory(at("kept"));
  folders_.keep_in(at("kept"));
  folders_.add_and_keep(at("shared"));
  link(at("other"), "shared/out");
  EXPECT_EQ(read(at("shared/out/secret")), "EACCES");
  root_.write("target", "text");
  link("target", "linked");
  folders_.keep_in(at("linked"));
  folders_.add_and_keep(at("shared"));
  EXPECT_EQ(read(at("target")), "text");
}

TEST_F(GuestFoldersTest, WithoutOnePathsLeadWhereTheyDo) {
  link("shared", "first");
  link(at("other") + "//./", "shared/out");
  link("../../../other/secret", "shared/sub/deep/far");
  link("loop", "loop");
  EXPECT_EQ(read(at("first/out/secret")), "secret");
  EXPECT_EQ(read(at("first/sub/deep/far")), "secret");
  EXPECT_EQ(read(at("shared/sub/../../other/./secret")), "secret");
  EXPECT_EQ(read(at("loop")), "ELOOP");
  EXPECT_EQ(read(at("loop/x")), "ELOOP");
  EXPECT_EQ(read(at("none")), "ENOENT");
  EXPECT_EQ(read(at("none/x")), "ENOENT");
  EXPECT_EQ(read(at("shared/file/x")), "ENOTDIR");
  EXPECT_EQ(read(at("shared/file/")), "ENOTDIR");
  EXPECT_EQ(read(at("shared/")), "folder");
  EXPECT_EQ(read("/"), "folder");
  EXPECT_EQ(read("/.."), "folder");
  EXPECT_EQ(read(""), "ENOENT");
}

TEST_F(GuestFoldersTest, LinksOfGuestsLeadNotOut) {
  folders_.add(at("shared"));
  link("../other", "shared/up");
  link(at("other"), "shared/absolute");
  link("sub/deep/../../../other", "shared/round");
  link("/proc/self/root", "shared/root");
  link("up", "shared/second");
  link("../shared/file", "shared/back_in");
  for (const char* name : {"up", "absolute", "round", "root", "second", "back_in"}) {
    EXPECT_EQ(read(at("shared/") + name), "EACCES") << name;
    EXPECT_EQ(read(at("shared/") + name + "/secret"), "EACCES") << name;
  }
  // The user's own way there, and out of there.
  link("shared", "users");
  EXPECT_EQ(read(at("users/up/secret")), "EACCES");
  EXPECT_EQ(read(at("users/file")), "of the guest");
  EXPECT_EQ(read(at("users/../other/secret")), "secret");
  link(at("other"), "elsewhere");
  EXPECT_EQ(read(at("elsewhere/secret")), "secret");
}

TEST_F(GuestFoldersTest, NobodyWaitsForAPipeOfAGuest) {
  folders_.add(at("shared"));
  ASSERT_EQ(::mkfifo(at("shared/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(at("other/pipe").c_str(), 0600), 0);
  link("../other", "shared/up");
  EXPECT_EQ(folders_.open_to_read(at("shared/pipe")).error(), Errno::acces);
  EXPECT_EQ(folders_.open_to_read(at("shared/up/secret")).error(), Errno::acces);
  EXPECT_EQ(folders_.open_to_read(at("shared/none")).error(), Errno::noent);
  EXPECT_TRUE(folders_.open_to_read(at("shared/file")));
  EXPECT_TRUE(folders_.open_to_read(at("shared/sub")));
  EXPECT_TRUE(folders_.open_to_read(at("other/pipe"), O_NONBLOCK));
}

TEST_F(GuestFoldersTest, LinksWithinOneAreFollowed) {
  folders_.add(at("shared"));
  link("file", "shared/same");
  link("sub", "shared/folder");
  link("../file", "shared/sub/above");
  link("../sub/deep/../file", "shared/sub/round");
  EXPECT_EQ(read(at("shared/same")), "of the guest");
  EXPECT_EQ(read(at("shared/folder/file")), "below");
  EXPECT_EQ(read(at("shared/folder/above")), "of the guest");
  EXPECT_EQ(read(at("shared/sub/round")), "below");
}

// Who has the one within is not to name what lies around it.
TEST_F(GuestFoldersTest, OneInAnotherHasBordersOfItsOwn) {
  folders_.add(at("shared"));
  folders_.add(at("shared/sub"));
  link("../file", "shared/sub/above");
  link("sub/file", "shared/down");
  link("deep/../file", "shared/sub/within");
  EXPECT_EQ(read(at("shared/sub/above")), "EACCES");
  EXPECT_EQ(read(at("shared/down")), "below");
  EXPECT_EQ(read(at("shared/sub/within")), "below");
}

TEST_F(GuestFoldersTest, APlaceIsWhereAFileIsMade) {
  folders_.add(at("shared"));
  link("../other/secret", "shared/new");
  link("nothing_yet", "shared/later");
  const auto kept = folders_.find(at("shared/new"), GuestFolders::LastLink::kept);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->name, "new");
  EXPECT_FALSE(folders_.find(at("shared/new"), GuestFolders::LastLink::followed));
  const auto later = folders_.find(at("shared/later"), GuestFolders::LastLink::followed);
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->found);
  EXPECT_EQ(later->name, "nothing_yet");
  // It is that folder, wherever it is by now.
  fs::rename(at("shared"), at("moved"));
  fs::create_directory_symlink("other", at("shared"));
  UniqueFd file(::open(later->path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_TRUE(file);
  EXPECT_TRUE(fs::exists(at("moved/nothing_yet")));
  const auto folder = folders_.find(at("moved/sub/"), GuestFolders::LastLink::kept);
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->name, "sub");
}

TEST_F(GuestFoldersTest, PathsFromHereHaveTheFoldersAboveToo) {
  folders_.add(at("shared"));
  link("../../../other", "shared/sub/deep/out");
  link("../../file", "shared/sub/deep/in");
  const fs::path before = fs::current_path();
  fs::current_path(at("shared/sub/deep"));
  EXPECT_EQ(read("out/secret"), "EACCES");
  EXPECT_EQ(read("in"), "of the guest");
  EXPECT_EQ(read("../file"), "below");
  EXPECT_EQ(read("../../../other/secret"), "secret");
  EXPECT_EQ(read("."), "folder");
  fs::current_path(before);
}

TEST_F(GuestFoldersTest, WhatHasNoPathIsFoundAllTheSame) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  const auto found = folders_.open("/proc/self/fd/" + std::to_string(writer.get()));
  ASSERT_TRUE(found) << found.error().what();
  struct stat of{};
  ASSERT_EQ(::fstat(found->get(), &of), 0);
  EXPECT_TRUE(S_ISFIFO(of.st_mode));
}

TEST_F(GuestFoldersTest, WhatIsNoFolderIsNoGuests) {
  folders_.add(at("none"));
  folders_.add(at("shared/file"));
  link("../other/secret", "shared/out");
  EXPECT_EQ(read(at("shared/out")), "secret");
}

// A folder and a link that are exchanged all the time.
TEST_F(GuestFoldersTest, NoRaceLeadsOut) {
  folders_.add(at("shared"));
  root_.write("shared/sub/secret", "mine");
  link("../other", "shared/turn");
  std::atomic<bool> ends = false;
  std::thread guest([&] {
    while (!ends)
      (void)::renameat2(AT_FDCWD, at("shared/sub").c_str(), AT_FDCWD, at("shared/turn").c_str(),
                        RENAME_EXCHANGE);
  });
  constexpr int tries = 3000;
  int within = 0, refused = 0;
  for (int i = 0; i < tries; ++i) {
    const std::string said = read(at("shared/sub/secret"));
    within += said == "mine" ? 1 : 0;
    refused += said == "EACCES" ? 1 : 0;
  }
  ends = true;
  guest.join();
  EXPECT_EQ(within + refused, tries);
}

}  // namespace
}  // namespace cloche
