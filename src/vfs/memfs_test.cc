// SPDX-License-Identifier: Apache-2.0
#include "vfs/memfs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "vfs/memfs_testing.h"

namespace cloche::vfs {
namespace {

TEST_F(MemFsTest, ChargesContentByTheByteAndNamesByTheInode) {
  const Ino a = write(*fs_, "a", "hello");
  EXPECT_EQ(fs_->usage(), (Usage{5, 1}));
  ASSERT_TRUE(fs_->link(a, 1, "b").ok());
  EXPECT_EQ(fs_->usage(), (Usage{5, 2}));
  ASSERT_TRUE(fs_->symlink(1, "s", "target", {}).ok());
  EXPECT_EQ(fs_->usage(), (Usage{11, 3}));
  ASSERT_TRUE(fs_->unlink(1, "a").ok());
  EXPECT_EQ(fs_->usage(), (Usage{11, 2}));
  ASSERT_TRUE(fs_->unlink(1, "b").ok());
  ASSERT_TRUE(fs_->unlink(1, "s").ok());
  EXPECT_EQ(fs_->usage(), (Usage{0, 0}));
}

TEST_F(MemFsTest, AFileMayFillTheQuotaToTheLastByte) {
  fs_->set_quota({1'000'000, 10});
  const std::string data(1'000'000, 'x');
  const Ino ino = make(*fs_, "f");
  const auto io = *fs_->open(ino, Access::read_write);
  EXPECT_EQ(*io->write(0, bytes(data)), data.size());
  EXPECT_EQ(fs_->usage().bytes, 1'000'000u);
  EXPECT_EQ(io->write(1'000'000, bytes("y")).error(), Errno::nospc);
  EXPECT_EQ(*io->write(999'990, bytes("0123456789ab")), 10u);
  ASSERT_TRUE(io->truncate(10).ok());
  EXPECT_EQ(fs_->usage().bytes, 10u);
  ASSERT_TRUE(io->truncate(0).ok());
  EXPECT_EQ(fs_->usage().bytes, 0u);
}

TEST_F(MemFsTest, AWriteIsCutAtTheQuota) {
  fs_->set_quota({10'000, 10});
  const std::string data(20'000, 'x');
  const auto io = *fs_->open(make(*fs_, "f"), Access::read_write);
  EXPECT_EQ(*io->write(0, bytes(data)), 10'000u);
  EXPECT_EQ(fs_->usage().bytes, 10'000u);
  EXPECT_EQ(io->stat()->size, 10'000u);
}

TEST_F(MemFsTest, SparsePagesCostWholePages) {
  const auto io = *fs_->open(make(*fs_, "f"), Access::read_write);
  const std::uint64_t far = (std::uint64_t{1} << 62) + 5;
  EXPECT_EQ(*io->write(far, bytes("z")), 1u);
  EXPECT_EQ(fs_->usage().bytes, 6u);
  EXPECT_EQ(*io->write(100, bytes("a")), 1u);
  EXPECT_EQ(fs_->usage().bytes, 4096u + 6);
  EXPECT_EQ(io->stat()->size, far + 1);
  EXPECT_EQ(*io->seek_data(0), 0u);
  EXPECT_EQ(*io->seek_hole(0), 4096u);
  EXPECT_EQ(*io->seek_data(4096), far - 5);
  EXPECT_EQ(*io->seek_hole(far), far + 1);
  EXPECT_EQ(io->seek_data(far + 1).error(), Errno::nxio);
  char c[3] = {1, 1, 1};
  EXPECT_EQ(*io->read(far - 2, std::as_writable_bytes(std::span(c))), 3u);
  EXPECT_EQ(std::string(c, 3), std::string("\0\0z", 3));
  EXPECT_EQ(io->write(file_size_max, bytes("z")).error(), Errno::fbig);
  EXPECT_EQ(*io->write(file_size_max - 1, bytes("zz")), 1u);
  EXPECT_EQ(io->truncate(UINT64_MAX).error(), Errno::fbig);
  EXPECT_EQ(io->allocate(UINT64_MAX - 5, 100, AllocateMode::grow).error(), Errno::fbig);
}

TEST_F(MemFsTest, ExtendingPastAPartialPageChargesItInFull) {
  fs_->set_quota({5000, 10});
  const auto io = *fs_->open(make(*fs_, "f"), Access::read_write);
  ASSERT_TRUE(io->write(0, bytes("x")).ok());
  ASSERT_TRUE(io->truncate(100'000).ok());
  EXPECT_EQ(fs_->usage().bytes, 4096u);
  ASSERT_TRUE(io->truncate(1).ok());
  fs_->set_quota({4000, 10});
  EXPECT_EQ(io->truncate(100'000).error(), Errno::nospc);
  EXPECT_EQ(io->stat()->size, 1u);
  EXPECT_EQ(io->write(8192, bytes("y")).error(), Errno::nospc);
  EXPECT_EQ(fs_->usage().bytes, 1u);
}

TEST_F(MemFsTest, PunchGivesSpaceBackAndAllocateTakesIt) {
  const auto io = *fs_->open(make(*fs_, "f"), Access::read_write);
  const std::string data(16'384, 'x');
  ASSERT_TRUE(io->write(0, bytes(data)).ok());
  ASSERT_TRUE(io->punch_hole(1000, 9000).ok());
  EXPECT_EQ(fs_->usage().bytes, 3u * 4096);
  std::string out(16'384, '?');
  ASSERT_TRUE(io->read(0, std::as_writable_bytes(std::span(out))).ok());
  std::string expected = data;
  std::fill(expected.begin() + 1000, expected.begin() + 10'000, '\0');
  EXPECT_EQ(out, expected);
  ASSERT_TRUE(io->allocate(0, 16'384, AllocateMode::keep_size).ok());
  EXPECT_EQ(fs_->usage().bytes, 16'384u);
  EXPECT_EQ(io->allocate(0, 1 << 21, AllocateMode::grow).error(), Errno::nospc);
  EXPECT_EQ(io->allocate(0, std::uint64_t{1} << 60, AllocateMode::grow).error(), Errno::nospc);
  ASSERT_TRUE(io->punch_hole(0, 1 << 30).ok());
  EXPECT_EQ(fs_->usage().bytes, 0u);
  EXPECT_EQ(io->stat()->size, 16'384u);
}

TEST_F(MemFsTest, EmptyFilesAreBoundedByTheInodeQuota) {
  for (int i = 0; i < 100; ++i) make(*fs_, "f" + std::to_string(i));
  EXPECT_EQ(fs_->create(1, "more", {}).error(), Errno::nospc);
  EXPECT_EQ(fs_->symlink(1, "more", "t", {}).error(), Errno::nospc);
  EXPECT_EQ(fs_->link(*fs_->lookup(1, "f1"), 1, "more").error(), Errno::nospc);
  ASSERT_TRUE(fs_->unlink(1, "f1").ok());
  EXPECT_TRUE(fs_->create(1, "more", {}).ok());
}

TEST_F(MemFsTest, AnUnlinkedFileLivesAndCostsUntilItsLastNode) {
  const Ino ino = write(*fs_, "f", "hello");
  {
    const Node node(*fs_, ino);
    ASSERT_TRUE(fs_->unlink(1, "f").ok());
    EXPECT_EQ(read(*fs_, ino), "hello");
    EXPECT_EQ(fs_->stat(ino)->nlink, 0u);
    EXPECT_EQ(fs_->usage(), (Usage{5, 1}));
    EXPECT_EQ(fs_->locate(ino).error(), Errno::noent);
  }
  EXPECT_EQ(fs_->usage(), (Usage{0, 0}));
  EXPECT_EQ(fs_->stat(ino).error(), Errno::stale);
}

TEST_F(MemFsTest, AnOpenFileWithoutANameCanBeGivenOne) {
  const Ino ino = write(*fs_, "f", "hello");
  {
    const Node node(*fs_, ino);
    ASSERT_TRUE(fs_->unlink(1, "f").ok());
    ASSERT_TRUE(fs_->link(ino, 1, "again").ok());
    EXPECT_EQ(fs_->usage(), (Usage{5, 1}));
    EXPECT_EQ(fs_->stat(ino)->nlink, 1u);
  }
  EXPECT_EQ(read(*fs_, ino), "hello");
  EXPECT_EQ(fs_->locate(ino)->name, "again");
  ASSERT_TRUE(fs_->unlink(1, "again").ok());
  EXPECT_EQ(fs_->usage(), (Usage{0, 0}));
}

TEST_F(MemFsTest, ARemovedDirectoryTakesNoNewNames) {
  const Ino dir = make(*fs_, "d", FileType::directory);
  const Node node(*fs_, dir);
  ASSERT_TRUE(fs_->rmdir(1, "d").ok());
  EXPECT_EQ(fs_->create(dir, "x", {}).error(), Errno::noent);
  EXPECT_EQ(*fs_->parent(dir), 1u);
  int seen = 0;
  const auto io = *fs_->open(dir, Access::read);
  EXPECT_TRUE(io->readdir(0, [&](const DirEntry&) { return ++seen > 0; }).ok());
  EXPECT_EQ(seen, 0);
}

TEST_F(MemFsTest, AFileSystemOutlivesItsOwnerWhileANodeIsLeft) {
  Node node(*fs_, write(*fs_, "f", "hello"));
  fs_ = {};
  EXPECT_EQ(node.stat()->size, 5u);
}

TEST_F(MemFsTest, ForksDoNotSeeEachOther) {
  const Ino ino = write(*fs_, "f", "old");
  const auto fork = fs_->fork({1 << 20, 100});
  write(*fork, "f", "new and longer");
  make(*fork, "only-here");
  EXPECT_EQ(read(*fs_, ino), "old");
  EXPECT_EQ(read(*fork, ino), "new and longer");
  EXPECT_EQ(fs_->lookup(1, "only-here").error(), Errno::noent);
  EXPECT_EQ(fs_->usage(), (Usage{3, 1}));
  EXPECT_EQ(fork->usage(), (Usage{14, 2}));
  ASSERT_TRUE(fs_->unlink(1, "f").ok());
  EXPECT_EQ(read(*fork, ino), "new and longer");
}

TEST_F(MemFsTest, AForkCarriesUnlinkedOpenFilesUntilTheyAreDropped) {
  const Ino kept = write(*fs_, "kept", "k"), dropped = write(*fs_, "dropped", "d");
  const Node a(*fs_, kept), b(*fs_, dropped);
  ASSERT_TRUE(fs_->unlink(1, "kept").ok());
  ASSERT_TRUE(fs_->unlink(1, "dropped").ok());
  const auto fork = fs_->fork({1 << 20, 100});
  EXPECT_EQ(fork->usage(), (Usage{2, 2}));
  Node carried(*fork, kept);
  fork->drop_orphans();
  EXPECT_EQ(fork->usage(), (Usage{1, 1}));
  EXPECT_EQ(read(*fork, kept), "k");
  carried = {};
  EXPECT_EQ(fork->usage(), (Usage{0, 0}));
  EXPECT_EQ(read(*fs_, dropped), "d");
}

std::string all_of(const HeldContent& held) {
  std::string out(held.size() + 1, '?');
  out.resize(held.read(0, std::as_writable_bytes(std::span(out))));
  return out;
}

TEST_F(MemFsTest, HeldContentStaysWhatItWas) {
  const std::string before(100'000, 'a');
  const Ino ino = write(*fs_, "f", before);
  const auto io = *fs_->open(ino, Access::read_write);
  const auto held = io->hold();
  ASSERT_TRUE(held);
  ASSERT_TRUE(io->write(50'000, bytes(std::string(100'000, 'b'))).ok());
  ASSERT_TRUE(io->truncate(60'000).ok());
  const auto later = io->hold();
  ASSERT_TRUE(later);
  ASSERT_TRUE(io->truncate(0).ok());
  EXPECT_EQ(fs_->usage().bytes, 0u);
  EXPECT_EQ(all_of(*held), before);
  EXPECT_EQ(all_of(*later), before.substr(0, 50'000) + std::string(10'000, 'b'));
  EXPECT_FALSE((*fs_->open(ino, Access::write))->hold());
  EXPECT_FALSE((*fs_->open(1, Access::read))->hold());
}

TEST_F(MemFsTest, AsMuchIsHeldAsTheQuotaHas) {
  fs_->set_quota({10'000, 10});
  const auto io = *fs_->open(write(*fs_, "f", std::string(6'000, 'x')), Access::read_write);
  auto held = io->hold();
  ASSERT_TRUE(held);
  EXPECT_FALSE(io->hold());
  ASSERT_TRUE(io->truncate(4'000).ok());
  EXPECT_TRUE(io->hold());
  ASSERT_TRUE(io->write(0, bytes(std::string(10'000, 'y'))).ok());  // what is held costs it nothing
  EXPECT_FALSE(io->hold());
  held.reset();
  EXPECT_TRUE(io->hold());
}

TEST_F(MemFsTest, HeldContentIsLetGoOfOnAnyThread) {
  const Ino ino = write(*fs_, "f", std::string(200'000, 'x'));
  std::thread reader;
  {
    const auto io = *fs_->open(ino, Access::read_write);
    reader = std::thread([held = io->hold()] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(all_of(*held), std::string(200'000, 'x'));
    });
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(io->write(0, bytes(std::string(200'000, 'y'))).ok());
    ASSERT_TRUE(fs_->unlink(1, "f").ok());
  }
  fs_ = {};
  reader.join();
}

TEST_F(MemFsTest, TenThousandLevelsNeedNoStack) {
  fs_->set_quota({});
  Ino dir = 1;
  for (int i = 0; i < 10'000; ++i) dir = make(*fs_, "d", FileType::directory, dir);
  const Ino first = *fs_->lookup(1, "d");
  EXPECT_EQ(fs_->rename(1, "d", dir, "d", RenameMode::replace).error(), Errno::inval);
  const auto fork = fs_->fork({});
  make(*fork, "leaf", FileType::regular, dir);
  fs_ = {};
  EXPECT_EQ(*fork->parent(first), 1u);
}

TEST_F(MemFsTest, AtimeIsRelativeAsOnLinux) {
  const Ino ino = write(*fs_, "f", "x");
  read(*fs_, ino);
  const Timestamp first = fs_->stat(ino)->atime;
  EXPECT_GT(first, fs_->stat(ino)->mtime);
  read(*fs_, ino);
  EXPECT_EQ(fs_->stat(ino)->atime, first);
}

TEST_F(MemFsTest, XattrsAreChargedAndChecked) {
  using Mode = FileSystem::XattrMode;
  const Ino ino = make(*fs_, "f");
  EXPECT_EQ(fs_->set_xattr(ino, "security.x", "v", Mode::set).error(), Errno::notsup);
  EXPECT_EQ(fs_->set_xattr(ino, "user.", "v", Mode::set).error(), Errno::inval);
  EXPECT_EQ(fs_->set_xattr(ino, "user.a", "v", Mode::replace).error(), Errno::nodata);
  ASSERT_TRUE(fs_->set_xattr(ino, "user.a", "value", Mode::create).ok());
  EXPECT_EQ(fs_->usage().bytes, 6u + 5 + 64);
  EXPECT_EQ(fs_->set_xattr(ino, "user.a", "v", Mode::create).error(), Errno::exist);
  EXPECT_EQ(*fs_->get_xattr(ino, "user.a"), "value");
  EXPECT_EQ(fs_->list_xattrs(ino)->size(), 1u);
  EXPECT_EQ(fs_->set_xattr(ino, "user.b", std::string(70'000, 'x'), Mode::set).error(),
            Errno::toobig);
  ASSERT_TRUE(fs_->remove_xattr(ino, "user.a").ok());
  EXPECT_EQ(fs_->get_xattr(ino, "user.a").error(), Errno::nodata);
  ASSERT_TRUE(fs_->set_xattr(ino, "user.c", "v", Mode::set).ok());
  ASSERT_TRUE(fs_->unlink(1, "f").ok());
  EXPECT_EQ(fs_->usage(), (Usage{0, 0}));
}

TEST_F(MemFsTest, CookiesSurviveChangesAroundThem) {
  fs_->set_quota({});
  for (int i = 0; i < 1000; ++i) make(*fs_, "f" + std::to_string(i));
  const auto io = *fs_->open(1, Access::read);
  std::uint64_t cookie = 0;
  std::vector<std::string> seen;
  int step = 0;
  for (bool more = true; more;) {
    more = false;
    int taken = 0;
    ASSERT_TRUE(io->readdir(cookie, [&](const DirEntry& e) {
                    if (++taken > 7) return more = true, false;
                    seen.emplace_back(e.name);
                    cookie = e.next;
                    return true;
                  }).ok());
    // Even files stay; odd ones go, and others come, at places before and after.
    if (step < 500) {
      ASSERT_TRUE(fs_->unlink(1, "f" + std::to_string(2 * step + 1)).ok());
      make(*fs_, "n" + std::to_string(step++));
    }
  }
  for (int i = 0; i < 1000; i += 2) {
    EXPECT_EQ(std::ranges::count(seen, "f" + std::to_string(i)), 1) << i;
  }
}

// Frozen states are shared between threads; each thread owns its forks.
TEST_F(MemFsTest, ThreadsForkOneBase) {
  fs_->set_quota({});
  for (int i = 0; i < 200; ++i) write(*fs_, "f" + std::to_string(i), "text");
  const Frozen base = fs_->freeze();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        StepClock clock;
        const auto fs = make_fs<MemFs>(base, Quota{}, clock);
        const std::string name = "f" + std::to_string((round * 7 + t) % 200);
        write(*fs, name, "changed");
        EXPECT_EQ(read(*fs, *fs->lookup(1, name)), "changed");
        ASSERT_TRUE(fs->unlink(1, "f0").ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(read(*fs_, *fs_->lookup(1, "f5")), "text");
}

}  // namespace
}  // namespace cloche::vfs
