// SPDX-License-Identifier: Apache-2.0
// What must not get out of a mounted folder, however guest and host pull at it. The behaviour that
// all file systems share is in contract_test.cc.

#include "vfs/hostfs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/host_error.h"
#include "base/temp_dir_testing.h"
#include "vfs/checked_operations.h"
#include "vfs/namespace.h"

namespace cloche::vfs {
namespace {

namespace fs = std::filesystem;

class HostFsTest : public ::testing::TestWithParam<bool> {
 protected:
  HostFsTest() {
    fs::create_directory(outer_.path() / "mounted");
    outer_.write("secret", "secret");
    outer_.write("mounted/f", "inside");
    fs::create_directory(outer_.path() / "mounted/d");
    outer_.write("mounted/d/g", "deeper");
  }
  TypedFsRef<HostFs> open_folder(HostAccess access) {
    return make_fs<HostFs>(
        outer_.path() / "mounted",
        HostFs::Options{
            .access = access, .open_max = 8, .remembered_max = 64, .use_openat2 = GetParam()});
  }
  std::string read(const Node& node) {
    const auto io = open(node, Access::read, user_);
    if (!io) return std::string(errno_info(io.error()).name);
    std::string out(100, '?');
    out.resize(*(*io)->read(0, std::as_writable_bytes(std::span(out))));
    return out;
  }

  TempDir outer_;
  Credentials user_;
};

TEST_P(HostFsTest, ThrowsForWhatIsNeitherFolderNorFile) {
  EXPECT_THROW(make_fs<HostFs>("/does/not/exist", HostFs::Options{}), HostError);
  EXPECT_THROW(make_fs<HostFs>("/dev/null", HostFs::Options{}), HostError);
  ASSERT_EQ(::mkfifo((outer_.path() / "fifo").c_str(), 0600), 0);
  EXPECT_THROW(make_fs<HostFs>(outer_.path() / "fifo", HostFs::Options{}), HostError);
}

// The root is the inode that was opened, whatever becomes of its name.
TEST_P(HostFsTest, AFileIsAllThatThereIs) {
  const auto fs =
      make_fs<HostFs>(outer_.path() / "mounted/f",
                      HostFs::Options{.access = HostAccess::writable, .use_openat2 = GetParam()});
  const Node file(*fs, fs->root());
  EXPECT_EQ(file.stat()->type, FileType::regular);
  EXPECT_EQ(fs->lookup(fs->root(), "d").error(), Errno::notdir);
  EXPECT_EQ(fs->lookup(fs->root(), "..").error(), Errno::noent);
  EXPECT_EQ(*fs->parent(fs->root()), fs->root());
  EXPECT_EQ(fs->create(fs->root(), "new", {}).error(), Errno::notdir);
  EXPECT_EQ(fs->unlink(fs->root(), "f").error(), Errno::notdir);
  outer_.write("mounted/new", "another");
  fs::rename(outer_.path() / "mounted/new", outer_.path() / "mounted/f");
  EXPECT_EQ(read(file), "inside");
  ASSERT_TRUE(fs->set_attr(fs->root(), {.mode = 0600, .size = 2}).ok());
  EXPECT_EQ(file.stat()->mode, 0600U);
  const FsRef fork = fs->fork_for(std::nullopt);
  EXPECT_EQ(read(Node(*fork, fork->root())), "in");
  EXPECT_EQ(outer_.read("mounted/f"), "another");
}

TEST_P(HostFsTest, AFileAndAFolderAreSynced) {
  for (const char* path : {"mounted", "mounted/f"}) {
    for (const HostAccess access : {HostAccess::writable, HostAccess::read_only}) {
      const auto fs = make_fs<HostFs>(outer_.path() / path,
                                      HostFs::Options{.access = access, .use_openat2 = GetParam()});
      EXPECT_TRUE(fs->sync().ok()) << path;
    }
  }
}

// Nothing is left out of a fork, where its guest would write into what the folder covers.
TEST_P(HostFsTest, AForkThatItCannotBeInThrows) {
  const auto folder = open_folder(HostAccess::writable);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none_left{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  EXPECT_THROW((void)folder->fork_for(std::nullopt), HostError);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(folder->fork_for(std::nullopt));
}

TEST_P(HostFsTest, ReadOnlyChangesNothing) {
  const auto folder = open_folder(HostAccess::read_only);
  const Node root(*folder, folder->root());
  const Node f(*folder, *folder->lookup(folder->root(), "f"));
  EXPECT_EQ(read(f), "inside");
  EXPECT_EQ(create(root, "x", FileType::regular, 0644, user_).error(), Errno::rofs);
  EXPECT_EQ(open(f, Access::write, user_).error(), Errno::rofs);
  EXPECT_EQ(unlink(root, "f", user_).error(), Errno::rofs);
  EXPECT_EQ(chmod(f, 0777, user_).error(), Errno::rofs);
  EXPECT_EQ(truncate(f, 0, user_).error(), Errno::rofs);
  EXPECT_EQ(rename(root, "f", root, "g", RenameMode::replace, user_).error(), Errno::rofs);
  // The mechanism refuses too, whoever asks.
  EXPECT_EQ(folder->create(folder->root(), "x", {}).error(), Errno::rofs);
  EXPECT_EQ(folder->symlink(folder->root(), "x", "y", {}).error(), Errno::rofs);
  EXPECT_EQ(folder->link(f.ino(), folder->root(), "x").error(), Errno::rofs);
  EXPECT_EQ(folder->unlink(folder->root(), "f").error(), Errno::rofs);
  EXPECT_EQ(folder->rmdir(folder->root(), "d").error(), Errno::rofs);
  EXPECT_EQ(folder->rename(folder->root(), "f", folder->root(), "h", RenameMode::replace).error(),
            Errno::rofs);
  EXPECT_EQ(folder->set_attr(f.ino(), {.size = 0}).error(), Errno::rofs);
  EXPECT_EQ(folder->open(f.ino(), Access::write).error(), Errno::rofs);
  EXPECT_EQ(outer_.read("mounted/f"), "inside");
}

TEST_P(HostFsTest, TheHostNeverFollowsALinkForUs) {
  fs::create_symlink(outer_.path() / "secret", outer_.path() / "mounted/out");
  fs::create_symlink("..", outer_.path() / "mounted/up");
  fs::create_symlink("../secret", outer_.path() / "mounted/rel");
  const auto folder = open_folder(HostAccess::writable);
  const Ino out = *folder->lookup(folder->root(), "out"),
            up = *folder->lookup(folder->root(), "up");
  EXPECT_EQ(folder->stat(out)->type, FileType::symlink);
  EXPECT_EQ(folder->open(out, Access::read).error(), Errno::inval);
  EXPECT_EQ(folder->lookup(up, "secret").error(), Errno::notdir);
  EXPECT_EQ(folder->create(up, "x", {}).error(), Errno::notdir);
  EXPECT_EQ(folder->set_attr(out, {.size = 0}).error(), Errno::inval);
  EXPECT_EQ(folder->set_attr(out, {.mode = 0777}).error(), Errno::perm);
  for (const std::string_view name : {"..", ".", "../secret", "d/g", "/etc", ""}) {
    EXPECT_FALSE(folder->lookup(folder->root(), name).ok()) << name;
    EXPECT_FALSE(folder->unlink(folder->root(), name).ok()) << name;
    EXPECT_FALSE(folder->create(folder->root(), name, {}).ok()) << name;
    EXPECT_FALSE(
        folder->rename(folder->root(), "f", folder->root(), name, RenameMode::replace).ok())
        << name;
  }
  // Our own walk takes them as paths of the guest, where nothing of the kind exists.
  Namespace space(folder);
  EXPECT_EQ(space.lookup(space.root(), "/out", Follow::yes, user_).error(), Errno::noent);
  EXPECT_EQ(space.lookup(space.root(), "/rel", Follow::yes, user_).error(), Errno::noent);
  EXPECT_EQ(*space.lookup(space.root(), "/up", Follow::yes, user_), space.root());
  EXPECT_EQ(outer_.read("secret"), "secret");
}

TEST_P(HostFsTest, AFolderSwappedForALinkIsNotFollowed) {
  const auto folder = open_folder(HostAccess::writable);
  const Node d(*folder, *folder->lookup(folder->root(), "d"));
  const Node g(*folder, *folder->lookup(d.ino(), "g"));
  fs::rename(outer_.path() / "mounted/d", outer_.path() / "away");
  fs::create_symlink(outer_.path() / "away", outer_.path() / "mounted/d");
  EXPECT_FALSE(folder->stat(g.ino()).ok());
  EXPECT_FALSE(folder->lookup(d.ino(), "g").ok());
  EXPECT_FALSE(folder->create(d.ino(), "new", {}).ok());
  EXPECT_FALSE(folder->open(g.ino(), Access::read).ok());
  EXPECT_FALSE(fs::exists(outer_.path() / "away/new"));
}

TEST_P(HostFsTest, AnotherFileAtTheSamePlaceIsStale) {
  const auto folder = open_folder(HostAccess::writable);
  const Node f(*folder, *folder->lookup(folder->root(), "f"));
  outer_.write("other", "other");
  fs::rename(outer_.path() / "other", outer_.path() / "mounted/f");
  EXPECT_EQ(folder->stat(f.ino()).error(), Errno::stale);
  EXPECT_EQ(read(Node(*folder, *folder->lookup(folder->root(), "f"))), "other");
}

TEST_P(HostFsTest, FoldersMovedIntoEachOtherMakeNoRing) {
  fs::create_directories(outer_.path() / "mounted/p/q");
  const auto folder = open_folder(HostAccess::writable);
  const Node p(*folder, *folder->lookup(folder->root(), "p"));
  const Node q(*folder, *folder->lookup(p.ino(), "q"));
  fs::rename(outer_.path() / "mounted/p/q", outer_.path() / "mounted/q2");
  fs::rename(outer_.path() / "mounted/p", outer_.path() / "mounted/q2/p");
  fs::create_directory(outer_.path() / "mounted/p");
  fs::rename(outer_.path() / "mounted/q2", outer_.path() / "mounted/p/q");
  // q is where it was, by name; what is in it now is the p that was above it.
  EXPECT_EQ(folder->lookup(q.ino(), "p").error(), Errno::stale);
  EXPECT_TRUE(folder->lookup(folder->root(), "f").ok());
}

TEST_P(HostFsTest, SpecialFilesAreNotOpenedNorMade) {
  ASSERT_EQ(::mkfifo((outer_.path() / "mounted/fifo").c_str(), 0666), 0);
  const auto folder = open_folder(HostAccess::writable);
  const Ino fifo = *folder->lookup(folder->root(), "fifo");
  EXPECT_EQ(folder->stat(fifo)->type, FileType::fifo);
  EXPECT_EQ(folder->open(fifo, Access::read).error(), Errno::inval);
  EXPECT_EQ(folder->create(folder->root(), "x", {.type = FileType::fifo}).error(), Errno::perm);
  EXPECT_EQ(folder->create(folder->root(), "x", {.type = FileType::character}).error(),
            Errno::perm);
}

TEST_P(HostFsTest, SetIdBitsNeitherShowNorStick) {
  fs::permissions(outer_.path() / "mounted/f", fs::perms(06755));
  const auto folder = open_folder(HostAccess::writable);
  const Ino f = *folder->lookup(folder->root(), "f");
  EXPECT_EQ(folder->stat(f)->mode, 0755u);
  ASSERT_TRUE(folder->set_attr(f, {.mode = 06700}).ok());
  struct stat st{};
  ASSERT_EQ(::stat((outer_.path() / "mounted/f").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
  EXPECT_EQ(folder->set_attr(f, {.uid = 0}).error(), Errno::perm);
}

TEST_P(HostFsTest, OpenFilesAreBounded) {
  const auto folder = open_folder(HostAccess::read_only);
  const Ino f = *folder->lookup(folder->root(), "f");
  std::vector<std::unique_ptr<NodeIo>> open;
  for (int i = 0; i < 8; ++i) open.push_back(*folder->open(f, Access::read));
  EXPECT_EQ(folder->open(f, Access::read).error(), Errno::nfile);
  open.pop_back();
  EXPECT_TRUE(folder->open(f, Access::read).ok());
}

TEST_P(HostFsTest, ForgetsWhatNobodyHolds) {
  for (int i = 0; i < 500; ++i) outer_.write("mounted/n" + std::to_string(i), "x");
  const auto folder = open_folder(HostAccess::read_only);
  const Node kept(*folder, *folder->lookup(*folder->lookup(folder->root(), "d"), "g"));
  for (int i = 0; i < 500; ++i) {
    const Node node(*folder, *folder->lookup(folder->root(), "n" + std::to_string(i)));
    EXPECT_EQ(read(node), "x");
  }
  EXPECT_EQ(read(kept), "deeper");
  EXPECT_EQ(folder->locate(kept.ino())->name, "g");
}

TEST_P(HostFsTest, AForkIsTheSameFolder) {
  const auto folder = open_folder(HostAccess::writable);
  const Node d(*folder, *folder->lookup(folder->root(), "d"));
  const FsRef fork = folder->fork_for(std::nullopt);
  EXPECT_EQ(fork->stat(d.ino())->ino, d.ino());
  ASSERT_TRUE(fork->create(d.ino(), "new", {}).ok());
  EXPECT_TRUE(folder->lookup(d.ino(), "new").ok());
}

// The host swaps a folder for a link to the outside and back, as fast as it can, while a guest
// walks.
TEST_P(HostFsTest, RacesWithTheHostDoNotEscape) {
  fs::create_directory(outer_.path() / "outside");
  outer_.write("outside/g", "secret");
  fs::create_symlink(outer_.path() / "outside", outer_.path() / "trap");
  const auto folder = open_folder(HostAccess::writable);
  std::atomic<bool> done{false};
  std::thread host([&] {
    const fs::path d = outer_.path() / "mounted/d", trap = outer_.path() / "trap";
    while (!done) {
      ::renameat2(AT_FDCWD, d.c_str(), AT_FDCWD, trap.c_str(), RENAME_EXCHANGE);
    }
  });
  Namespace space(folder);
  for (int i = 0; i < 3000; ++i) {
    const auto node = space.lookup(space.root(), "/d/g", Follow::no, user_);
    if (node) {
      EXPECT_NE(read(*node), "secret");
    }
    const auto dir = folder->lookup(folder->root(), "d");
    if (dir) static_cast<void>(folder->create(*dir, "made" + std::to_string(i), {}));
  }
  done = true;
  host.join();
  for (const auto& entry : fs::directory_iterator(outer_.path() / "outside")) {
    EXPECT_EQ(entry.path().filename(), "g");
  }
}

// It comes and goes between two looks at it.
TEST_P(HostFsTest, AnExchangeWithWhatTheHostMovesIsAnErrorOrDone) {
  const auto folder = open_folder(HostAccess::writable);
  outer_.write("other", "other");
  std::atomic<bool> done{false};
  std::thread host([&] {
    const fs::path inside = outer_.path() / "mounted/other", outside = outer_.path() / "other";
    while (!done) {
      ::rename(outside.c_str(), inside.c_str());
      ::rename(inside.c_str(), outside.c_str());
    }
  });
  const Node root(*folder, folder->root());
  int exchanges = 0;
  for (int i = 0; i < 20'000; ++i)
    exchanges +=
        folder->rename(root.ino(), "f", root.ino(), "other", RenameMode::exchange).ok() ? 1 : 0;
  done = true;
  host.join();
  EXPECT_GT(exchanges, 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, HostFsTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Openat2" : "BySteps"; });

}  // namespace
}  // namespace cloche::vfs
