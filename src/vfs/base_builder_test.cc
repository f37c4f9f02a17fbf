// SPDX-License-Identifier: Apache-2.0
#include "vfs/base_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "vfs/memfs_testing.h"

namespace cloche::vfs {
namespace {

class BaseBuilderTest : public MemFsTest {};

TEST_F(BaseBuilderTest, BaseContentCostsNothingUntilItIsWritten) {
  BaseBuilder builder;
  const std::string text(10'000, 'b');
  ASSERT_TRUE(builder.add_file("/etc/data", SharedBytes::from_string(text), {.uid = 1000}).ok());
  ASSERT_TRUE(builder.add_symlink("/etc/link", "data").ok());
  const Frozen base = builder.freeze();
  const auto fs = make_fs<MemFs>(base, Quota{5000, 10}, clock_);
  EXPECT_EQ(fs->usage(), (Usage{0, 0}));
  const Ino etc = *fs->lookup(1, "etc");
  const Ino data = *fs->lookup(etc, "data");
  EXPECT_EQ(read(*fs, data), text);
  EXPECT_EQ(fs->shared_content(data)->size(), 10'000u);
  EXPECT_EQ(fs->stat(data)->blocks, 20u);
  const auto io = *fs->open(data, Access::read_write);
  ASSERT_TRUE(io->write(5000, bytes("!")).ok());
  EXPECT_EQ(fs->usage(), (Usage{4096, 0}));
  EXPECT_FALSE(fs->shared_content(data).has_value());
  std::string expected = text;
  expected[5000] = '!';
  EXPECT_EQ(read(*fs, data), expected);
  EXPECT_EQ(io->write(0, bytes("!")).error(), Errno::nospc);
  ASSERT_TRUE(io->truncate(6000).ok());
  EXPECT_EQ(fs->usage().bytes, 6000u - 4096);
  ASSERT_TRUE(io->truncate(9000).ok());
  expected.resize(6000);
  expected.resize(9000);
  EXPECT_EQ(read(*fs, data), expected);
  ASSERT_TRUE(fs->unlink(etc, "data").ok());
  EXPECT_EQ(fs->usage().inodes, 0u);
  const auto other = make_fs<MemFs>(base, Quota{}, clock_);
  EXPECT_EQ(read(*other, data), text);
}

TEST_F(BaseBuilderTest, PunchingSharedContentCoversItWithZeros) {
  BaseBuilder builder;
  std::string text(20'000, 'b');
  ASSERT_TRUE(builder.add_file("f", SharedBytes::from_string(text)).ok());
  const auto fs = make_fs<MemFs>(builder.freeze(), Quota{1 << 20, 10}, clock_);
  const Ino f = *fs->lookup(1, "f");
  const auto io = *fs->open(f, Access::read_write);
  ASSERT_TRUE(io->punch_hole(3000, 6000).ok());
  std::fill(text.begin() + 3000, text.begin() + 9000, '\0');
  EXPECT_EQ(read(*fs, f), text);
  ASSERT_TRUE(io->punch_hole(15'000, 1 << 20).ok());
  std::fill(text.begin() + 15'000, text.end(), '\0');
  EXPECT_EQ(read(*fs, f), text);
  EXPECT_EQ(io->stat()->size, 20'000u);
}

TEST_F(BaseBuilderTest, ProgramsKeepTheirTagUntilTheyAreWritten) {
  BaseBuilder builder;
  ASSERT_TRUE(builder.add_program("usr/bin/sh", 7, SharedBytes::from_string("wasm")).ok());
  ASSERT_TRUE(builder.add_device("/dev/null", FileType::character, make_dev(1, 3)).ok());
  const auto fs = make_fs<MemFs>(builder.freeze(), Quota{}, clock_);
  const Ino bin = *fs->lookup(*fs->lookup(1, "usr"), "bin");
  const Ino sh = *fs->lookup(bin, "sh");
  EXPECT_EQ(fs->program(sh), 7u);
  ASSERT_TRUE((*fs->open(sh, Access::write))->write(0, bytes("#")).ok());
  EXPECT_EQ(fs->program(sh), 0u);
  const Stat null = *fs->stat(*fs->lookup(*fs->lookup(1, "dev"), "null"));
  EXPECT_EQ(null.type, FileType::character);
  EXPECT_EQ(dev_major(null.rdev), 1u);
  EXPECT_EQ(dev_minor(null.rdev), 3u);
}

TEST_F(BaseBuilderTest, BuilderRefusesPathsThatAreNotPlain) {
  BaseBuilder builder;
  EXPECT_EQ(builder.add_file("a/../b", {}).error(), Errno::inval);
  EXPECT_EQ(builder.add_file("/", {}).error(), Errno::inval);
  ASSERT_TRUE(builder.add_file("a", {}).ok());
  EXPECT_EQ(builder.add_file("a/b", {}).error(), Errno::notdir);
  EXPECT_TRUE(builder.add_file("a", SharedBytes::from_string("again")).ok());
  ASSERT_TRUE(builder.add_dir("d", {.mode = 0700, .mtime = {5, 0}}).ok());
  EXPECT_EQ(builder.add_symlink("d", "x").error(), Errno::isdir);
  const auto fs = make_fs<MemFs>(builder.freeze(), Quota{}, clock_);
  const Ino d = *fs->lookup(1, "d");
  EXPECT_EQ(fs->stat(d)->mtime.s, 5);
}

// The folder of the entry before is where an entry goes whose path begins with all of its path.
TEST_F(BaseBuilderTest, EntriesBesideEachOtherAreWhereTheirPathsSay) {
  BaseBuilder builder;
  for (const char* path :
       {"d/e/one", "d/e/two", "d/other", "d/eve", "d/e/f/deep", "d//e/three", "e"})
    EXPECT_TRUE(builder.add_file(path, SharedBytes::from_string(path)).ok()) << path;
  EXPECT_TRUE(builder.add_file("d/e/one", SharedBytes::from_string("again")).ok());
  for (const char* name : {"d/e/.", "d/e/..", "d/e/"}) {
    EXPECT_FALSE(builder.add_file(name, {}).ok()) << name;
  }
  const auto fs = make_fs<MemFs>(builder.freeze(), Quota{}, clock_);
  const Ino d = *fs->lookup(1, "d"), e = *fs->lookup(d, "e");
  for (const char* name : {"one", "two", "three", "f"}) EXPECT_TRUE(fs->lookup(e, name)) << name;
  for (const char* name : {"other", "eve"}) EXPECT_TRUE(fs->lookup(d, name)) << name;
  EXPECT_TRUE(fs->lookup(1, "e"));
  EXPECT_EQ(fs->stat(*fs->lookup(e, "one"))->size, 5);
}

class GraftTest : public MemFsTest {
 protected:
  GraftTest() {
    BaseBuilder builder;
    EXPECT_TRUE(builder.add_file("pkg/core/mod.py", SharedBytes::from_string("code")).ok());
    EXPECT_TRUE(builder.add_file("six.py", SharedBytes::from_string("six")).ok());
    package_ = builder.freeze();
    const auto fs = make_fs<MemFs>(package_, Quota{}, clock_);
    pkg_ = *fs->lookup(1, "pkg");
    six_ = *fs->lookup(1, "six.py");
    site_ = make(*fs_, "site", FileType::directory);
  }

  Frozen package_;
  Ino pkg_ = 0, six_ = 0, site_ = 0;
};

TEST_F(GraftTest, ShowsATreeWithoutCost) {
  const Usage before = fs_->usage();
  const Ino pkg = *fs_->graft(site_, "pkg", package_, pkg_);
  const Ino six = *fs_->graft(site_, "six.py", package_, six_);
  EXPECT_EQ(fs_->usage(), before);
  EXPECT_EQ(*fs_->lookup(site_, "pkg"), pkg);
  const Ino core = *fs_->lookup(pkg, "core");
  const Ino mod = *fs_->lookup(core, "mod.py");
  EXPECT_EQ(read(*fs_, mod), "code");
  EXPECT_EQ(read(*fs_, six), "six");
  EXPECT_EQ(*fs_->parent(core), pkg);
  EXPECT_EQ(*fs_->parent(pkg), site_);
  EXPECT_EQ(fs_->locate(pkg)->name, "pkg");
  EXPECT_EQ(fs_->locate(mod)->parent, core);
  EXPECT_EQ(fs_->locate(six)->parent, site_);
  EXPECT_EQ(fs_->stat(mod)->ino, mod);
  std::string names;
  const auto io = *fs_->open(pkg, Access::read);
  EXPECT_TRUE(io->readdir(0, [&](const DirEntry& e) {
                  names += std::string(e.name) + " ";
                  EXPECT_TRUE(e.name != "core" || e.ino == core);
                  EXPECT_TRUE(e.name != ".." || e.ino == site_);
                  return true;
                }).ok());
  EXPECT_EQ(names, ". .. core ");
}

TEST_F(GraftTest, CannotBeChangedOrMovedByAGuest) {
  const Ino pkg = *fs_->graft(site_, "pkg", package_, pkg_);
  const Ino mod = *fs_->lookup(*fs_->lookup(pkg, "core"), "mod.py");
  EXPECT_EQ(fs_->graft(site_, "pkg", package_, pkg_).error(), Errno::exist);
  EXPECT_EQ(fs_->create(pkg, "x", {}).error(), Errno::rofs);
  EXPECT_EQ(fs_->open(mod, Access::write).error(), Errno::rofs);
  EXPECT_EQ(fs_->set_attr(mod, {.mode = 0777}).error(), Errno::rofs);
  EXPECT_EQ(fs_->rmdir(site_, "pkg").error(), Errno::busy);
  EXPECT_EQ(fs_->rename(site_, "pkg", 1, "x", RenameMode::replace).error(), Errno::busy);
  EXPECT_EQ(fs_->link(mod, 1, "x").error(), Errno::xdev);
  EXPECT_EQ(fs_->rmdir(1, "site").error(), Errno::notempty);
  make(*fs_, "f");
  EXPECT_EQ(fs_->rename(1, "f", pkg, "f", RenameMode::replace).error(), Errno::rofs);
}

TEST_F(GraftTest, IsOneOfSoMany) {
  int times = 0;
  for (; times < 10'000 && fs_->graft(site_, "pkg", package_, pkg_).ok(); ++times)
    ASSERT_TRUE(fs_->ungraft(site_, "pkg").ok());
  EXPECT_GE(times, 1000);
  EXPECT_LT(times, 10'000);
  EXPECT_EQ(fs_->graft(site_, "pkg", package_, pkg_).error(), Errno::nospc);
  ASSERT_TRUE(fs_->rmdir(1, "site").ok());
}

TEST_F(GraftTest, GoesAwayWhileItIsInUse) {
  const Ino pkg = *fs_->graft(site_, "pkg", package_, pkg_);
  const Node held(*fs_, *fs_->lookup(*fs_->lookup(pkg, "core"), "mod.py"));
  const auto fork = fs_->fork({});
  EXPECT_EQ(fs_->ungraft(site_, "none").error(), Errno::noent);
  ASSERT_TRUE(fs_->ungraft(site_, "pkg").ok());
  EXPECT_EQ(fs_->lookup(site_, "pkg").error(), Errno::noent);
  EXPECT_EQ(read(*fs_, held.ino()), "code");
  EXPECT_EQ(fs_->locate(pkg).error(), Errno::noent);
  EXPECT_EQ(fs_->parent(pkg).error(), Errno::noent);
  EXPECT_EQ(*fork->lookup(site_, "pkg"), pkg);
  EXPECT_EQ(fork->graft(1, "again", fork->freeze()).error(), Errno::notsup);
  ASSERT_TRUE(fs_->rmdir(1, "site").ok());
}

}  // namespace
}  // namespace cloche::vfs
