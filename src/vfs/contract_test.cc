// SPDX-License-Identifier: Apache-2.0
// What every writable file system does alike: MemFs, a fork of one whose parent goes on changing,
// HostFs both ways.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/temp_dir_testing.h"
#include "vfs/checked_operations.h"
#include "vfs/hostfs.h"
#include "vfs/memfs.h"
#include "vfs/namespace.h"

namespace cloche::vfs {
namespace {

enum class Kind { memfs, forked, hostfs, hostfs_by_steps };

class Contract : public ::testing::TestWithParam<Kind> {
 protected:
  Contract() {
    switch (GetParam()) {
      case Kind::memfs: fs_ = make_fs<MemFs>(Quota{}, host_clock()); break;
      case Kind::forked: {
        parent_ = make_fs<MemFs>(Quota{}, host_clock());
        for (int i = 0; i < 40; ++i) {
          EXPECT_TRUE(parent_->create(1, "parent" + std::to_string(i), {}).ok());
        }
        auto fork = parent_->fork({});
        for (int i = 0; i < 40; ++i) {
          EXPECT_TRUE(fork->unlink(1, "parent" + std::to_string(i)).ok());
        }
        EXPECT_TRUE(parent_->create(1, "unseen", {}).ok());
        fs_ = fork;
        break;
      }
      case Kind::hostfs:
        fs_ = make_fs<HostFs>(folder_.path(), HostFs::Options{.access = HostAccess::writable});
        break;
      case Kind::hostfs_by_steps:
        fs_ = make_fs<HostFs>(
            folder_.path(), HostFs::Options{.access = HostAccess::writable, .use_openat2 = false});
        break;
    }
    root_ = Node(*fs_, fs_->root());
    EXPECT_TRUE(chown(root_, 1000, 1000, root_credentials()).ok());
  }

  Node file(std::string_view name, std::string_view content = "", const Node* dir = nullptr) {
    const Node node = *create(dir ? *dir : root_, name, FileType::regular, 0644, user_);
    const auto io = *open(node, Access::write, user_);
    EXPECT_EQ(*io->write(0, std::as_bytes(std::span(content))), content.size());
    return node;
  }
  Node dir(std::string_view name, const Node* parent = nullptr) {
    return *create(parent ? *parent : root_, name, FileType::directory, 0755, user_);
  }
  std::string read(NodeIo& io, std::uint64_t at = 0, std::size_t limit = 100) {
    std::string out(limit, '?');
    out.resize(*io.read(at, std::as_writable_bytes(std::span(out))));
    return out;
  }
  std::string read(const Node& node) { return read(**open(node, Access::read, user_)); }
  bool exists(std::string_view name, const Node* in = nullptr) {
    return fs_->lookup(in ? in->ino() : root_.ino(), name).ok();
  }
  Node at(std::string_view name) { return Node(*fs_, *fs_->lookup(root_.ino(), name)); }
  Errno rename_error(std::string_view from, std::string_view to,
                     RenameMode mode = RenameMode::replace) {
    const auto result = rename(root_, from, root_, to, mode, user_);
    return result ? Errno{} : result.error();
  }
  std::vector<std::string> names(const Node& node) {
    std::vector<std::string> out;
    const auto io = *open(node, Access::read, user_);
    EXPECT_TRUE(io->readdir(0, [&](const DirEntry& e) {
                    out.emplace_back(e.name);
                    return true;
                  }).ok());
    return out;
  }

  TempDir folder_;
  TypedFsRef<MemFs> parent_;
  FsRef fs_;
  Node root_;
  Credentials user_;
};

TEST_P(Contract, WritesAndReads) {
  const Node node = file("f", "hello");
  EXPECT_EQ(read(node), "hello");
  const Stat st = *node.stat();
  EXPECT_EQ(st.type, FileType::regular);
  EXPECT_EQ(st.mode, 0644u);
  EXPECT_EQ(st.size, 5u);
  EXPECT_EQ(st.nlink, 1u);
  EXPECT_EQ(st.uid, 1000u);
  EXPECT_EQ(st.ino, node.ino());
  EXPECT_EQ(create(root_, "f", FileType::regular, 0644, user_).error(), Errno::exist);
  EXPECT_EQ(create(root_, "f", FileType::directory, 0755, user_).error(), Errno::exist);
}

TEST_P(Contract, OpenGivesWhatWasAskedFor) {
  const Node node = file("f", "hello");
  std::byte b{};
  EXPECT_EQ((*open(node, Access::write, user_))->read(0, {&b, 1}).error(), Errno::badf);
  EXPECT_EQ((*open(node, Access::read, user_))->write(0, {&b, 1}).error(), Errno::badf);
  EXPECT_EQ((*open(node, Access::read, user_))->truncate(0).error(), Errno::badf);
  EXPECT_EQ(open(root_, Access::write, user_).error(), Errno::isdir);
  ASSERT_TRUE(symlink(root_, "l", "f", user_).ok());
  EXPECT_EQ(open(at("l"), Access::read, user_).error(), Errno::inval);
}

TEST_P(Contract, NamesAreAnyBytesUpTo255) {
  const std::string longest(255, 'n'), odd = "\x01\xff\n *\\\"";
  EXPECT_TRUE(create(root_, longest, FileType::regular, 0644, user_).ok());
  EXPECT_TRUE(create(root_, odd, FileType::regular, 0644, user_).ok());
  EXPECT_TRUE(exists(longest));
  EXPECT_TRUE(exists(odd));
  EXPECT_EQ(create(root_, longest + "n", FileType::regular, 0644, user_).error(),
            Errno::nametoolong);
  for (const std::string_view bad : {"", ".", "..", "a/b", "/"}) {
    EXPECT_FALSE(create(root_, bad, FileType::regular, 0644, user_).ok()) << bad;
  }
  EXPECT_FALSE(create(root_, std::string_view("a\0b", 3), FileType::regular, 0644, user_).ok());
  EXPECT_FALSE(exists("a"));
}

TEST_P(Contract, SparseFilesReachBeyondFourGiB) {
  const Node node = file("big");
  const auto io = *open(node, Access::read_write, user_);
  const std::uint64_t far = (std::uint64_t{1} << 32) + 10;
  EXPECT_EQ(*io->write(far, std::as_bytes(std::span("end", 3))), 3u);
  EXPECT_EQ(node.stat()->size, far + 3);
  EXPECT_LT(node.stat()->blocks, 1000u);
  EXPECT_EQ(read(*io, far), "end");
  EXPECT_EQ(read(*io, 7, 3), std::string(3, '\0'));
  EXPECT_EQ(read(*io, far + 3), "");
  EXPECT_EQ(read(*io, UINT64_MAX - 1), "");
  EXPECT_EQ(io->write(UINT64_MAX - 1, std::as_bytes(std::span("x", 1))).error(), Errno::fbig);
  EXPECT_GE(*io->seek_data(0), 4096u);
  EXPECT_EQ(*io->seek_hole(0), 0u);
}

TEST_P(Contract, TruncateCutsAndExtendsWithZeros) {
  const Node node = file("f", "abcdef");
  ASSERT_TRUE(truncate(node, 3, user_).ok());
  ASSERT_TRUE(truncate(node, 6, user_).ok());
  EXPECT_EQ(read(node), std::string("abc\0\0\0", 6));
  const auto io = *open(node, Access::read_write, user_);
  ASSERT_TRUE(io->truncate(1).ok());
  EXPECT_EQ(read(node), "a");
  EXPECT_EQ(truncate(dir("d"), 0, user_).error(), Errno::isdir);
}

TEST_P(Contract, AppendsAtTheEnd) {
  const Node node = file("f", "abc");
  const auto io = *open(node, Access::write, user_);
  const auto done = io->append(std::as_bytes(std::span("de", 2)));
  EXPECT_EQ(done->count, 2u);
  EXPECT_EQ(done->end, 5u);
  EXPECT_EQ(read(node), "abcde");
}

TEST_P(Contract, PunchedRangesReadAsZeros) {
  const Node node = file("f", std::string(10'000, 'x'));
  const auto io = *open(node, Access::read_write, user_);
  ASSERT_TRUE(io->punch_hole(100, 8000).ok());
  EXPECT_EQ(read(*io, 98, 4), std::string("xx\0\0", 4));
  EXPECT_EQ(read(*io, 8098, 4), std::string("\0\0xx", 4));
  EXPECT_EQ(node.stat()->size, 10'000u);
  ASSERT_TRUE(io->allocate(0, 20'000, AllocateMode::grow).ok());
  EXPECT_EQ(node.stat()->size, 20'000u);
  EXPECT_EQ(read(*io, 19'999, 4), std::string("\0", 1));
}

TEST_P(Contract, AnOpenFileOutlivesItsName) {
  const Node node = file("f", "hello");
  const auto io = *open(node, Access::read_write, user_);
  ASSERT_TRUE(unlink(root_, "f", user_).ok());
  EXPECT_FALSE(exists("f"));
  EXPECT_EQ(read(*io), "hello");
  EXPECT_EQ(*io->write(5, std::as_bytes(std::span("!", 1))), 1u);
  EXPECT_EQ(io->stat()->size, 6u);
  EXPECT_EQ(io->stat()->nlink, 0u);
  EXPECT_EQ(fs_->locate(node.ino()).error(), Errno::noent);
  const Node next = file("f", "other");
  EXPECT_EQ(read(*io), "hello!");
  EXPECT_EQ(read(next), "other");
}

TEST_P(Contract, HardLinksShareOneInode) {
  const Node node = file("a", "x");
  ASSERT_TRUE(link(node, root_, "b", user_).ok());
  EXPECT_EQ(at("b").ino(), node.ino());
  EXPECT_EQ(at("b").stat()->nlink, 2u);
  EXPECT_EQ(link(node, root_, "b", user_).error(), Errno::exist);
  EXPECT_EQ(link(dir("d"), root_, "e", user_).error(), Errno::perm);
  ASSERT_TRUE(unlink(root_, "a", user_).ok());
  EXPECT_EQ(read(at("b")), "x");
}

TEST_P(Contract, SymbolicLinksKeepTheirText) {
  const std::string text = "../../etc//passwd ";
  const Node node = *symlink(root_, "l", text, user_);
  EXPECT_EQ(*fs_->readlink(node.ino()), text);
  EXPECT_EQ(node.stat()->type, FileType::symlink);
  EXPECT_EQ(node.stat()->size, text.size());
  EXPECT_EQ(symlink(root_, "m", "", user_).error(), Errno::noent);
  EXPECT_EQ(symlink(root_, "m", std::string(5000, 'x'), user_).error(), Errno::nametoolong);
  EXPECT_EQ(fs_->readlink(file("f").ino()).error(), Errno::inval);
}

TEST_P(Contract, RemovesOnlyWhatTheCallNames) {
  const Node d = dir("d");
  file("f");
  file("in", "", &d);
  EXPECT_EQ(unlink(root_, "d", user_).error(), Errno::isdir);
  EXPECT_EQ(rmdir(root_, "f", user_).error(), Errno::notdir);
  EXPECT_EQ(rmdir(root_, "d", user_).error(), Errno::notempty);
  EXPECT_EQ(unlink(root_, "none", user_).error(), Errno::noent);
  ASSERT_TRUE(unlink(d, "in", user_).ok());
  ASSERT_TRUE(rmdir(root_, "d", user_).ok());
  EXPECT_FALSE(exists("d"));
}

TEST_P(Contract, RenameFollowsThePosixTable) {
  file("f", "f");
  file("g", "g");
  const Node d = dir("d"), e = dir("e");
  const Node sub = dir("sub", &d);
  EXPECT_EQ(rename_error("none", "x"), Errno::noent);
  EXPECT_EQ(rename_error("f", "d"), Errno::isdir);
  EXPECT_EQ(rename_error("d", "f"), Errno::notdir);
  EXPECT_EQ(rename_error("e", "d"), Errno::notempty);
  EXPECT_EQ(rename(root_, "d", sub, "x", RenameMode::replace, user_).error(), Errno::inval);
  EXPECT_EQ(rename(root_, "d", d, "x", RenameMode::replace, user_).error(), Errno::inval);
  EXPECT_EQ(rename_error("f", "g", RenameMode::no_replace), Errno::exist);
  EXPECT_EQ(rename_error("f", "none", RenameMode::exchange), Errno::noent);
  EXPECT_EQ(rename_error("f", "f"), Errno{});
  EXPECT_EQ(rename_error("f", "g"), Errno{});
  EXPECT_FALSE(exists("f"));
  EXPECT_EQ(read(at("g")), "f");
  EXPECT_EQ(rename_error("d", "e"), Errno{});
  EXPECT_TRUE(fs_->lookup(at("e").ino(), "sub").ok());
  ASSERT_TRUE(rename(at("e"), "sub", root_, "moved", RenameMode::replace, user_).ok());
  EXPECT_EQ(*fs_->parent(at("moved").ino()), root_.ino());
  EXPECT_EQ(rename_error("moved", "g", RenameMode::exchange), Errno{});
  EXPECT_EQ(at("g").stat()->type, FileType::directory);
  EXPECT_EQ(read(at("moved")), "f");
}

TEST_P(Contract, RenamingOneLinkOverAnotherChangesNothing) {
  const Node node = file("a", "x");
  ASSERT_TRUE(link(node, root_, "b", user_).ok());
  EXPECT_EQ(rename_error("a", "b"), Errno{});
  EXPECT_TRUE(exists("a"));
  EXPECT_TRUE(exists("b"));
  EXPECT_EQ(node.stat()->nlink, 2u);
}

TEST_P(Contract, ReaddirShowsEachNameOnceWithDotsFirst) {
  for (int i = 0; i < 300; ++i) file("file-with-a-long-name-" + std::to_string(i));
  auto seen = names(root_);
  ASSERT_EQ(seen.size(), 302u);
  EXPECT_EQ(seen[0], ".");
  EXPECT_EQ(seen[1], "..");
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

TEST_P(Contract, ReaddirGoesOnFromAnyCookieWhileSeenNamesGo) {
  for (int i = 0; i < 100; ++i) file("f" + std::to_string(i));
  const auto io = *open(root_, Access::read, user_);
  std::vector<std::string> seen;
  std::uint64_t cookie = 0;
  for (bool more = true; more;) {
    more = false;
    std::string name;
    ASSERT_TRUE(io->readdir(cookie, [&](const DirEntry& e) {
                    if (more) return false;
                    more = true;
                    name = e.name;
                    cookie = e.next;
                    return true;
                  }).ok());
    if (!more) break;
    seen.push_back(name);
    ASSERT_LT(seen.size(), 200u);
    if (name.starts_with('f')) {
      ASSERT_TRUE(unlink(root_, name, user_).ok());
    }
  }
  EXPECT_EQ(seen.size(), 102u);
}

TEST_P(Contract, ReaddirAgreesWithStat) {
  dir("d");
  file("f");
  ASSERT_TRUE(symlink(root_, "l", "f", user_).ok());
  const auto io = *open(root_, Access::read, user_);
  ASSERT_TRUE(io->readdir(0, [&](const DirEntry& e) {
                  if (e.name.starts_with('.')) return true;
                  const Stat st = *fs_->stat(*fs_->lookup(root_.ino(), e.name));
                  EXPECT_EQ(st.ino, e.ino);
                  EXPECT_EQ(st.type, e.type);
                  return true;
                }).ok());
  EXPECT_EQ((*open(at("f"), Access::read, user_))
                ->readdir(0, [](const DirEntry&) { return true; })
                .error(),
            Errno::notdir);
}

TEST_P(Contract, TimesAreSetOmittedAndChecked) {
  using K = TimeChange::Kind;
  const Node node = file("f");
  const Timestamp then{1'000'000'000, 5000};
  ASSERT_TRUE(set_times(node, {K::at, {1, 0}}, {K::at, then}, {}, user_).ok());
  EXPECT_EQ(node.stat()->mtime, then);
  ASSERT_TRUE(set_times(node, {K::now, {}}, {K::omit, {}}, {50, 0}, user_).ok());
  EXPECT_EQ(node.stat()->mtime, then);
  EXPECT_EQ(node.stat()->atime.s, 50);
  EXPECT_EQ(set_times(node, {K::at, {1, 2'000'000'000}}, {}, {}, user_).error(), Errno::inval);
  const Credentials other{.uid = 2000, .gid = 2000};
  EXPECT_EQ(set_times(node, {K::at, {}}, {}, {}, other).error(), Errno::perm);
  EXPECT_EQ(set_times(node, {K::now, {}}, {K::now, {}}, {}, other).error(), Errno::acces);
  ASSERT_TRUE(symlink(root_, "l", "nowhere", user_).ok());
  ASSERT_TRUE(set_times(at("l"), {}, {K::at, then}, {}, user_).ok());
  EXPECT_EQ(at("l").stat()->mtime, then);
}

TEST_P(Contract, ModesDecideWhoMay) {
  const Credentials other{.uid = 2000, .gid = 2000};
  const Node node = file("f", "x");
  EXPECT_EQ(chmod(node, 0600, other).error(), Errno::perm);
  ASSERT_TRUE(chmod(node, 0600, user_).ok());
  EXPECT_EQ(node.stat()->mode, 0600u);
  EXPECT_EQ(open(node, Access::read, other).error(), Errno::acces);
  EXPECT_EQ(open(node, Access::execute, user_).error(), Errno::acces);
  EXPECT_EQ(create(root_, "x", FileType::regular, 0644, other).error(), Errno::acces);
  EXPECT_EQ(unlink(root_, "f", other).error(), Errno::acces);
  EXPECT_EQ(chown(node, 0, std::nullopt, user_).error(), Errno::perm);
  EXPECT_EQ(create(root_, "dev", FileType::character, 0666, user_, make_dev(1, 3)).error(),
            Errno::perm);
}

TEST_P(Contract, PathsStayInsideAndPermissionsHold) {
  Namespace space(fs_);
  const Node d = dir("d");
  file("secret", "inside");
  file("f", "x", &d);
  const auto look = [&](const Node& start, std::string_view path) {
    return space.lookup(start, path, Follow::yes, user_);
  };
  for (const std::string_view path :
       {"../../../../secret", "/../secret", "..//.././/secret", "/d/../secret", "//secret"}) {
    EXPECT_EQ(read(*look(d, path)), "inside") << path;
  }
  EXPECT_EQ(look(d, "f/").error(), Errno::notdir);
  EXPECT_EQ(look(d, "f/..").error(), Errno::notdir);
  EXPECT_EQ(look(d, "f/.").error(), Errno::notdir);
  EXPECT_EQ(look(d, "").error(), Errno::noent);
  ASSERT_TRUE(symlink(d, "abs", "/secret", user_).ok());
  ASSERT_TRUE(symlink(d, "up", "../../../../../secret", user_).ok());
  ASSERT_TRUE(symlink(d, "etc", "/etc/passwd", user_).ok());
  ASSERT_TRUE(symlink(d, "loop", "loop", user_).ok());
  EXPECT_EQ(read(*look(d, "abs")), "inside");
  EXPECT_EQ(read(*look(d, "up")), "inside");
  EXPECT_EQ(look(d, "etc").error(), Errno::noent);
  EXPECT_EQ(look(d, "loop").error(), Errno::loop);
  EXPECT_EQ(*space.path_of(*look(d, "f")), "/d/f");
  EXPECT_EQ(*space.path_of(d), "/d");
  ASSERT_TRUE(chmod(d, 0600, user_).ok());
  EXPECT_EQ(look(root_, "d/f").error(), Errno::acces);
  ASSERT_TRUE(chmod(d, 0755, user_).ok());
}

INSTANTIATE_TEST_SUITE_P(AllKinds, Contract,
                         ::testing::Values(Kind::memfs, Kind::forked, Kind::hostfs,
                                           Kind::hostfs_by_steps),
                         [](const auto& param) {
                           switch (param.param) {
                             case Kind::memfs: return "MemFs";
                             case Kind::forked: return "ForkedMemFs";
                             case Kind::hostfs: return "HostFs";
                             default: return "HostFsBySteps";
                           }
                         });

}  // namespace
}  // namespace cloche::vfs
