// SPDX-License-Identifier: Apache-2.0
#include "vfs/namespace.h"

#include <gtest/gtest.h>

#include <string>

#include "base/temp_dir_testing.h"
#include "vfs/checked_operations.h"
#include "vfs/hostfs.h"
#include "vfs/memfs.h"

namespace cloche::vfs {
namespace {

class NamespaceTest : public ::testing::Test {
 protected:
  NamespaceTest() {
    dir("/a");
    dir("/a/b");
    file("/a/b/f");
    dir("/mnt");
  }

  Node dir(std::string_view path) { return make(path, FileType::directory); }
  Node file(std::string_view path) { return make(path, FileType::regular); }
  Node make(std::string_view path, FileType type) {
    const Resolved found = *space_.resolve(space_.root(), path, Follow::yes, root_);
    return *create(found.parent, found.name, type, 0755, root_);
  }
  void link(std::string_view path, std::string_view target) {
    const Resolved found = *space_.resolve(space_.root(), path, Follow::no, root_);
    ASSERT_TRUE(symlink(found.parent, found.name, target, root_).ok());
  }
  Node look(std::string_view path) {
    return *space_.lookup(space_.root(), path, Follow::yes, root_);
  }
  Errno error(std::string_view path, std::uint32_t restrictions = 0, const Node* start = nullptr) {
    const auto found =
        space_.lookup(start ? *start : space_.root(), path, Follow::yes, user_, restrictions);
    return found ? Errno{} : found.error();
  }

  TypedFsRef<MemFs> fs_ = make_fs<MemFs>(Quota{}, host_clock());
  TypedFsRef<MemFs> other_ = make_fs<MemFs>(Quota{}, host_clock());
  Namespace space_{fs_};
  Credentials user_;
  Credentials root_ = root_credentials();
};

TEST_F(NamespaceTest, ResolvesParentNameAndTarget) {
  const Resolved found = *space_.resolve(space_.root(), "//a/./b/../b//f", Follow::yes, user_);
  EXPECT_EQ(found.parent, look("/a/b"));
  EXPECT_EQ(found.name, "f");
  EXPECT_EQ(*found.target, look("/a/b/f"));
  EXPECT_FALSE(found.trailing_slash);
  const Resolved missing = *space_.resolve(look("/a"), "b/none/", Follow::yes, user_);
  EXPECT_EQ(missing.parent, look("/a/b"));
  EXPECT_EQ(missing.name, "none");
  EXPECT_FALSE(missing.target.has_value());
  EXPECT_TRUE(missing.trailing_slash);
  EXPECT_EQ(space_.resolve(space_.root(), "/a/none/x", Follow::yes, user_).error(), Errno::noent);
}

TEST_F(NamespaceTest, SaysWhatAPathEndsIn) {
  const auto last = [&](std::string_view path) {
    return space_.resolve(look("/a"), path, Follow::yes, user_)->last;
  };
  EXPECT_EQ(last("/"), LastKind::root);
  EXPECT_EQ(last("///"), LastKind::root);
  EXPECT_EQ(last("."), LastKind::dot);
  EXPECT_EQ(last("b/.."), LastKind::dot_dot);
  EXPECT_EQ(last("b/"), LastKind::name);
  EXPECT_EQ(look("/a/b/.."), look("/a"));
  EXPECT_EQ(look("/.."), space_.root());
}

TEST_F(NamespaceTest, BoundsNamesAndPaths) {
  EXPECT_EQ(error(std::string(256, 'n')), Errno::nametoolong);
  EXPECT_EQ(error(std::string(255, 'n')), Errno::noent);
  std::string path;
  while (path.size() < 4096) path += "./";
  EXPECT_EQ(error(path), Errno::nametoolong);
  EXPECT_EQ(error(path.substr(0, 4095)), Errno{});
  EXPECT_EQ(error(std::string_view("a\0b", 3)), Errno::inval);
}

TEST_F(NamespaceTest, FollowsLinksWhereTheyLead) {
  link("/rel", "a/b");
  link("/abs", "/a/../a/b/f");
  link("/a/up", "../rel/f");
  link("/slash", "/");
  link("/dangling", "a/new");
  EXPECT_EQ(look("/rel/f"), look("/a/b/f"));
  EXPECT_EQ(look("/abs"), look("/a/b/f"));
  EXPECT_EQ(look("/a/up"), look("/a/b/f"));
  EXPECT_EQ(look("/slash"), space_.root());
  EXPECT_EQ(look("/slash/a"), look("/a"));
  EXPECT_EQ(error("/abs/"), Errno::notdir);
  const Resolved made = *space_.resolve(space_.root(), "/dangling", Follow::yes, user_);
  EXPECT_EQ(made.parent, look("/a"));
  EXPECT_EQ(made.name, "new");
  EXPECT_FALSE(made.target.has_value());
  const Resolved raw = *space_.resolve(space_.root(), "/rel", Follow::no, user_);
  EXPECT_EQ(raw.target->stat()->type, FileType::symlink);
  // A slash at the end asks for the directory behind the link.
  EXPECT_EQ(*space_.resolve(space_.root(), "/rel/", Follow::no, user_)->target, look("/a/b"));
}

TEST_F(NamespaceTest, EndsLoopsAndLongChains) {
  link("/x", "y");
  link("/y", "x");
  link("/self", "self/self/self");
  EXPECT_EQ(error("/x"), Errno::loop);
  EXPECT_EQ(error("/self/deeper"), Errno::loop);
  link("/l0", "a");
  for (int i = 1; i <= 45; ++i) link("/l" + std::to_string(i), "l" + std::to_string(i - 1));
  EXPECT_EQ(error("/l39"), Errno{});
  EXPECT_EQ(error("/l40"), Errno::loop);
  // Links that double at every level would be 2^40 components without the count.
  link("/d0", "a");
  for (int i = 1; i <= 40; ++i) {
    const std::string below = "../d" + std::to_string(i - 1);
    link("/d" + std::to_string(i), below + "/" + below);
  }
  EXPECT_EQ(error("/d40"), Errno::loop);
}

TEST_F(NamespaceTest, ChecksSearchPermissionOnEveryDirectory) {
  ASSERT_TRUE(chmod(look("/a"), 0700, root_).ok());
  EXPECT_EQ(error("/a/b/f"), Errno::acces);
  EXPECT_EQ(error("/a/none"), Errno::acces);
  EXPECT_EQ(error("/a"), Errno{});
  EXPECT_EQ(error("/a/.."), Errno::acces);
  ASSERT_TRUE(chmod(look("/a"), 0711, root_).ok());
  EXPECT_EQ(error("/a/b/f"), Errno{});
}

TEST_F(NamespaceTest, CrossesMountsBothWays) {
  ASSERT_TRUE(space_.mount(look("/mnt"), other_, "other").ok());
  file("/mnt/in");
  EXPECT_EQ(look("/mnt"), Node(*other_, other_->root()));
  EXPECT_EQ(look("/mnt/.."), space_.root());
  EXPECT_EQ(look("/mnt/../a/../mnt/in").ino(), *other_->lookup(1, "in"));
  EXPECT_EQ(*space_.path_of(look("/mnt/in")), "/mnt/in");
  EXPECT_EQ(*space_.path_of(look("/mnt")), "/mnt");
  EXPECT_NE(look("/mnt").stat()->dev, look("/a").stat()->dev);
  EXPECT_EQ(space_.mount(look("/a"), other_, "again").error(), Errno::busy);
  EXPECT_EQ(space_.mount(look("/a/b/f"), make_fs<MemFs>(Quota{}, host_clock()), "x").error(),
            Errno::notdir);
  const Resolved point = *space_.resolve(space_.root(), "/mnt", Follow::yes, user_);
  EXPECT_EQ(point.parent, space_.root());
  ASSERT_EQ(space_.mounts().size(), 2u);
  EXPECT_EQ(space_.mounted_on(Node(*fs_, *fs_->lookup(1, "mnt"))), &space_.mounts()[1]);
}

TEST_F(NamespaceTest, MountAtMakesTheWay) {
  ASSERT_TRUE(space_.mount_at("/deep/er/still", other_, "o").ok());
  EXPECT_EQ(look("/deep/er/still"), Node(*other_, 1));
  EXPECT_EQ(space_.mount_at("/a/b/f/x", make_fs<MemFs>(Quota{}, host_clock()), "o").error(),
            Errno::notdir);
}

TEST_F(NamespaceTest, AFileIsMountedOnAFile) {
  const TempDir host;
  host.write("f", "of the host");
  const auto mounted = [&] {
    return make_fs<HostFs>(host.path() / "f", HostFs::Options{.access = HostAccess::writable});
  };
  ASSERT_TRUE(vfs::link(look("/a/b/f"), look("/a"), "twin", root_).ok());
  EXPECT_EQ(space_.mount_at("/a/b", mounted(), "o").error(), Errno::isdir);
  EXPECT_EQ(space_.mount_at("/a/b/f/", mounted(), "o").error(), Errno::notdir);
  ASSERT_TRUE(space_.mount_at("/a/b/f", mounted(), "o").ok());
  ASSERT_TRUE(space_.mount_at("/way/to/f", mounted(), "o").ok());
  EXPECT_EQ(look("/a/b/f").stat()->size, 11U);
  EXPECT_EQ(*space_.path_of(look("/a/b/f")), "/a/b/f");
  EXPECT_EQ(*space_.path_of(look("/way/to/f")), "/way/to/f");
  // Under its other name it is not covered.
  EXPECT_EQ(&look("/a/twin").fs(), fs_.get());
  EXPECT_EQ(error("/a/b/f/x"), Errno::notdir);
  EXPECT_EQ(error("/a/b/f/.."), Errno::notdir);
  EXPECT_EQ(error("/a/b/f", Resolve::no_xdev), Errno::xdev);
  EXPECT_EQ(vfs::link(look("/a/b/f"), look("/a"), "x", root_).error(), Errno::xdev);
  const auto fork = space_.fork();
  EXPECT_EQ(fork->lookup(fork->root(), "/a/b/f", Follow::yes, user_)->stat()->size, 11U);
}

TEST_F(NamespaceTest, ObeysTheRestrictionsOfOpenat2) {
  const Node a = look("/a");
  link("/a/abs", "/a/b");
  link("/a/up", "../a/b");
  link("/a/in", "b/f");
  EXPECT_EQ(error("b/../b/f", Resolve::beneath, &a), Errno{});
  EXPECT_EQ(error("..", Resolve::beneath, &a), Errno::xdev);
  EXPECT_EQ(error("b/../../a", Resolve::beneath, &a), Errno::xdev);
  EXPECT_EQ(error("/a", Resolve::beneath, &a), Errno::xdev);
  EXPECT_EQ(error("abs", Resolve::beneath, &a), Errno::xdev);
  EXPECT_EQ(error("up", Resolve::beneath, &a), Errno::xdev);
  EXPECT_EQ(error("in", Resolve::beneath, &a), Errno{});
  EXPECT_EQ(error("in", Resolve::no_symlinks, &a), Errno::loop);
  EXPECT_EQ(error("/../../b/f", Resolve::in_root, &a), Errno{});
  EXPECT_EQ(error("abs", Resolve::in_root, &a), Errno::noent);
  EXPECT_EQ(error("b", Resolve::in_root | Resolve::beneath, &a), Errno::inval);
  ASSERT_TRUE(space_.mount(look("/mnt"), other_, "other").ok());
  const Node mnt = look("/mnt");
  EXPECT_EQ(error("/mnt", Resolve::no_xdev), Errno::xdev);
  EXPECT_EQ(error("..", Resolve::no_xdev, &mnt), Errno::xdev);
  EXPECT_EQ(error("/a/b", Resolve::no_xdev), Errno{});
}

TEST_F(NamespaceTest, PathOfARemovedDirectoryIsAbsent) {
  const Node gone = dir("/gone");
  ASSERT_TRUE(rmdir(space_.root(), "gone", root_).ok());
  EXPECT_EQ(space_.path_of(gone).error(), Errno::noent);
  EXPECT_EQ(error("x", 0, &gone), Errno::noent);
  EXPECT_EQ(error("..", 0, &gone), Errno{});
  EXPECT_EQ(*space_.path_of(space_.root()), "/");
}

TEST_F(NamespaceTest, ForkIsIndependentAndFindsItsNodes) {
  ASSERT_TRUE(space_.mount(look("/mnt"), other_, "other").ok());
  const Node in = file("/mnt/in"), f = look("/a/b/f");
  const auto fork = space_.fork(12345);
  const Node their_f = fork->counterpart(f, space_), their_in = fork->counterpart(in, space_);
  ASSERT_TRUE(their_f && their_in);
  EXPECT_EQ(their_f.ino(), f.ino());
  EXPECT_NE(&their_f.fs(), &f.fs());
  EXPECT_EQ(*fork->path_of(their_in), "/mnt/in");
  EXPECT_EQ(their_in.stat()->dev, in.stat()->dev);
  ASSERT_TRUE(unlink(look("/mnt"), "in", root_).ok());
  EXPECT_TRUE(fork->lookup(fork->root(), "/mnt/in", Follow::yes, user_).ok());
  EXPECT_EQ(static_cast<MemFs&>(fork->root().fs()).quota().bytes, 12345u);
}

// A file system with one link that leads straight to a node.
class MagicFs final : public FileSystem {
 public:
  explicit MagicFs(Node target) : target_(std::move(target)) {}
  Ino root() const override { return 1; }
  Result<Ino> lookup(Ino, std::string_view name) override {
    if (name == "magic") return Ino{2};
    return Errno::noent;
  }
  Result<Ino> parent(Ino) override { return Ino{1}; }
  Result<Location> locate(Ino) override { return Errno::noent; }
  Result<Stat> stat(Ino ino) override {
    Stat st;
    st.ino = ino;
    st.type = ino == 1 ? FileType::directory : FileType::symlink;
    st.mode = 0555;
    return st;
  }
  Result<void> set_attr(Ino, const SetAttr&) override { return Errno::perm; }
  Result<std::string> readlink(Ino) override { return std::string("pipe:[7]"); }
  Result<Node> magic_target(Ino) override { return target_; }
  Result<std::unique_ptr<NodeIo>> open(Ino, Access) override { return Errno::inval; }
  StatFs statfs() override { return {}; }
  std::string_view type_name() const override { return "magic"; }

 protected:
  void acquire(Ino) override {}
  void release(Ino) noexcept override {}

 private:
  Node target_;
};

TEST_F(NamespaceTest, MagicLinksLeadToNodesThatNoPathReaches) {
  const Node hidden = dir("/hidden");
  const Node inside = file("/hidden/f");
  ASSERT_TRUE(space_.mount(look("/mnt"), make_fs<MagicFs>(hidden), "magic").ok());
  ASSERT_TRUE(chmod(space_.root(), 0755, root_).ok());
  EXPECT_EQ(look("/mnt/magic"), hidden);
  EXPECT_EQ(look("/mnt/magic/f"), inside);
  EXPECT_EQ(look("/mnt/magic/"), hidden);
  EXPECT_EQ(error("/mnt/magic/f/"), Errno::notdir);
  EXPECT_EQ(error("/mnt/magic", Resolve::no_magiclinks), Errno::loop);
  EXPECT_EQ(error("/mnt/magic", Resolve::no_symlinks), Errno::loop);
  const Node mnt = look("/mnt");
  EXPECT_EQ(error("magic", Resolve::beneath, &mnt), Errno::xdev);
  // It belongs to one kernel, so a fork goes without it.
  EXPECT_EQ(space_.fork()->mounts().size(), 1u);
}

}  // namespace
}  // namespace cloche::vfs
