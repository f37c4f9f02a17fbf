// SPDX-License-Identifier: Apache-2.0
// Trees that are saved and read again: everything that a file can be, what changes, what is
// damaged.
#include "vfs/saved_tree.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>

#include "vfs/base_builder.h"
#include "vfs/memfs_testing.h"

namespace cloche::vfs {
namespace {

constexpr std::string_view folders[] = {"home", "tmp"};
constexpr Quota large{1 << 30, 100'000};

Frozen make_base() {
  BaseBuilder builder;
  EXPECT_TRUE(builder.add_dir("home", {.mode = 0755, .uid = 1000, .gid = 1000}));
  EXPECT_TRUE(builder.add_dir("tmp", {.mode = 01777}));
  EXPECT_TRUE(builder.add_file("etc/motd", SharedBytes::from_string("of the base")));
  return builder.freeze();
}

std::string written(const TreePart& part) {
  std::string bytes;
  const Result<void> result = write_tree(part, folders, [&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Result<void>();
  });
  EXPECT_TRUE(result);
  return bytes;
}

Result<void> read_part(TreeReader& reader, std::string_view bytes) {
  return reader.read([&](std::span<std::byte> to) -> Result<std::size_t> {
    const std::size_t count = std::min<std::size_t>({to.size(), bytes.size(), 1000});
    std::memcpy(to.data(), bytes.data(), count);
    bytes.remove_prefix(count);
    return count;
  });
}

// All that can be seen of a tree, as text; of a file with many names the first one tells.
class Seen {
 public:
  explicit Seen(MemFs& fs) : fs_(fs) {
    for (const std::string_view folder : folders) look(*fs.lookup(fs.root(), folder), folder);
  }
  const std::string& text() const { return text_; }

 private:
  void look(Ino start, std::string_view name) {
    std::vector<std::pair<Ino, std::string>> todo{{start, std::string(name)}};
    while (!todo.empty()) {
      const auto [ino, path] = todo.back();
      todo.pop_back();
      const Stat st = *fs_.stat(ino);
      const auto [first, is_new] = names_.emplace(ino, path);
      add(path, first->second, st.type, st.mode, st.uid, st.gid, st.size, st.blocks);
      if (!is_new) continue;
      // The links from below are in the count of a directory.
      for (const Timestamp& time : {st.atime, st.mtime, st.ctime, st.btime}) add(time.s, time.ns);
      add(st.nlink);
      if (const auto names = fs_.list_xattrs(ino)) {
        for (const std::string& attribute : *names) add(attribute, *fs_.get_xattr(ino, attribute));
      }
      if (st.type == FileType::symlink) add(*fs_.readlink(ino));
      if (st.type == FileType::regular) add_content(ino, st.size);
      if (st.type == FileType::directory) {
        std::map<std::string, Ino, std::greater<>> entries;
        (void)(*fs_.open(ino, Access::read))->readdir(2, [&](const DirEntry& entry) {
          entries.emplace(entry.name, entry.ino);
          return true;
        });
        for (const auto& [entry, child] : entries) {
          // Deep trees would be quadratic otherwise.
          std::string below = path.size() < 1000 ? path + "/" + entry : entry;
          todo.emplace_back(child, std::move(below));
        }
      }
    }
  }
  void add_content(Ino ino, std::uint64_t size) {
    const auto io = *fs_.open(ino, Access::read);
    std::uint64_t at = 0;
    while (at < size) {
      const auto data = io->seek_data(at);
      if (!data) break;
      const std::uint64_t end = *io->seek_hole(*data);
      std::string bytes(end - *data, '\0');
      EXPECT_EQ(*io->read(*data, std::as_writable_bytes(std::span(bytes))), bytes.size());
      add(*data, std::hash<std::string>()(bytes));
      at = end;
    }
  }
  template <typename... Parts>
  void add(const Parts&... parts) {
    (add_one(parts), ...);
    text_ += '\n';
  }
  void add_one(const std::string& part) { text_ += part + " "; }
  void add_one(FileType part) { add_one(static_cast<std::uint64_t>(part)); }
  template <std::integral Number>
  void add_one(Number part) {
    text_ += std::to_string(part) + " ";
  }

  MemFs& fs_;
  std::string text_;
  std::map<Ino, std::string> names_;
};

class SavedTree : public MemFsTest {
 protected:
  Ino folder(std::string_view name) { return *from_->lookup(from_->root(), name); }
  Ino file(Ino dir, std::string_view name, std::string_view text, std::uint64_t at = 0) {
    const Ino ino = *from_->create(dir, name, {.mode = 0644, .uid = 1000, .gid = 1000});
    EXPECT_TRUE((*from_->open(ino, Access::write))->write(at, bytes(text)));
    return ino;
  }
  TypedFsRef<MemFs> restored(const std::vector<std::string>& parts) {
    TreeReader reader(large);
    for (const std::string& part : parts) EXPECT_TRUE(read_part(reader, part));
    auto to = make_fs<MemFs>(base_, large, clock_);
    EXPECT_TRUE(reader.put_into(*to));
    return to;
  }

  const Frozen base_ = make_base();
  TypedFsRef<MemFs> from_ = make_fs<MemFs>(base_, large, clock_);
};

TEST_F(SavedTree, HasEverythingThatAFileCanBe) {
  const Ino home = folder("home");
  const Ino secret = file(home, "secret", "nobody reads this");
  ASSERT_TRUE(from_->set_attr(secret, {.mode = 0}));
  ASSERT_TRUE(from_->set_attr(home, {.mode = 0700}));
  ASSERT_TRUE(from_->link(secret, folder("tmp"), "other name"));
  ASSERT_TRUE(from_->symlink(home, "link", std::string(4000, 'x'), {}));
  ASSERT_TRUE(from_->create(home, "fifo", {.type = FileType::fifo, .mode = 0600}));
  ASSERT_TRUE(from_->create(home, "socket", {.type = FileType::socket, .mode = 0600}));
  ASSERT_TRUE(
      from_->set_xattr(secret, "user.note", std::string(1000, '\0'), FileSystem::XattrMode::set));
  ASSERT_TRUE(from_->set_attr(file(home, "foreign", ""), {.mode = 04755, .uid = 1001, .gid = 77}));
  ASSERT_TRUE(from_->set_attr(file(home, "old", "x"), {.mtime = Timestamp{-5, 999'999'999}}));
  const Ino held = file(home, "held", "");
  ASSERT_TRUE((*from_->open(held, Access::write))->allocate(0, 1 << 20, AllocateMode::grow));
  (void)file(home, std::string(255, '\xff'), "");
  const auto to = restored({written({base_, {}, from_->freeze()})});
  EXPECT_EQ(Seen(*to).text(), Seen(*from_).text());
  EXPECT_EQ(to->usage(), from_->usage());
}

TEST_F(SavedTree, WhatIsHeldIsNotReplaced) {
  const Ino home = folder("home");
  (void)file(home, "covered", "of the state");
  ASSERT_TRUE(from_->link(*from_->lookup(home, "covered"), home, "also"));
  TreeReader reader(large);
  EXPECT_TRUE(read_part(reader, written({base_, {}, from_->freeze()})));
  const auto to = make_fs<MemFs>(base_, large, clock_);
  const Ino to_home = *to->lookup(to->root(), "home");
  const Node held(*to, *to->create(to_home, "covered", {.mode = 0644}));
  ASSERT_TRUE(to->create(to_home, "also", {.mode = 0600}));
  ASSERT_TRUE(reader.put_into(*to));
  EXPECT_EQ(*to->lookup(to_home, "covered"), held.ino());
  EXPECT_EQ(held.stat()->size, 0U);
  EXPECT_EQ(to->stat(*to->lookup(to_home, "also"))->size, 12U);
}

TEST_F(SavedTree, AHoleOfAGibibyteCostsNothing) {
  const Ino sparse = file(folder("tmp"), "sparse", "end", (1 << 30) - 3);
  ASSERT_TRUE((*from_->open(sparse, Access::write))->truncate(std::uint64_t{1} << 40));
  const std::string part = written({base_, {}, from_->freeze()});
  EXPECT_LT(part.size(), 8192U);
  const auto to = restored({part});
  EXPECT_EQ(Seen(*to).text(), Seen(*from_).text());
  EXPECT_EQ(to->usage(), from_->usage());
}

TEST_F(SavedTree, DepthHasNoLimit) {
  Ino at = folder("tmp");
  for (int i = 0; i < 20'000; ++i)
    at = *from_->create(at, "deeper", {.type = FileType::directory, .mode = 0700});
  (void)file(at, "ground", "reached");
  const auto to = restored({written({base_, {}, from_->freeze()})});
  EXPECT_EQ(Seen(*to).text(), Seen(*from_).text());
}

TEST_F(SavedTree, SaysNothingWhereNothingHasChanged) {
  const Ino kept = file(folder("home"), "f", "text");
  const Frozen before = from_->freeze();
  EXPECT_EQ(size_of({base_, before, from_->freeze()}), 0U);
  (void)read(*from_, kept);  // its access time is no change
  EXPECT_EQ(size_of({base_, before, from_->freeze()}), 0U);
  ASSERT_TRUE(from_->set_attr(kept, {.mode = 0600}));
  EXPECT_GT(size_of({base_, before, from_->freeze()}), 0U);
}

TEST_F(SavedTree, AChangeCostsThePagesThatChanged) {
  const Ino big = file(folder("home"), "big", std::string(8 << 20, 'b'));
  std::vector<std::string> parts{written({base_, {}, from_->freeze()})};
  const Frozen before = from_->freeze();
  ASSERT_TRUE((*from_->open(big, Access::write))->write(4 << 20, bytes("changed")));
  parts.push_back(written({base_, before, from_->freeze()}));
  EXPECT_LT(parts.back().size(), 5000U);
  EXPECT_EQ(Seen(*restored(parts)).text(), Seen(*from_).text());
}

// What somebody else has put together.
class Forged {
 public:
  Forged& byte(int value) {
    text_ += static_cast<char>(value);
    return *this;
  }
  Forged& number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<int>(value & 0x7f) | 0x80);
    return byte(static_cast<int>(value));
  }
  Forged& text(std::string_view value) {
    number(value.size());
    text_ += value;
    return *this;
  }
  Forged& folder(std::string_view path, std::uint64_t ino) {
    return byte('R').text(path).number(ino);
  }
  Forged& node(std::uint64_t ino, FileType type) {
    byte('N').number(ino).byte(1).byte(static_cast<int>(type));
    number(0755).number(1000).number(1000);
    for (int zeros = 0; zeros < 9; ++zeros) number(0);
    return *this;
  }
  Forged& directory(std::uint64_t ino, const std::vector<std::pair<std::string, int>>& names) {
    node(ino, FileType::directory);
    for (const auto& [name, number] : names) byte(1).text(name).number(number);
    return byte(0);
  }
  Forged& file(std::uint64_t ino) { return node(ino, FileType::regular).number(0).byte(0); }
  std::string end() { return std::move(byte('E').text_); }

 private:
  std::string text_;
};

TEST_F(SavedTree, NoPlaceIsFilledTwice) {
  const std::string two_names = Forged()
                                    .folder("tmp", 5)
                                    .folder("tmp/", 6)
                                    .directory(5, {{"x", 10}})
                                    .directory(6, {{"x", 11}})
                                    .file(10)
                                    .file(11)
                                    .end();
  TreeReader reader(large);
  ASSERT_TRUE(read_part(reader, two_names));
  EXPECT_EQ(reader.put_into(*make_fs<MemFs>(base_, large, clock_)).error(), Errno::inval);
  TreeReader once(large);
  ASSERT_TRUE(read_part(
      once, Forged().folder("tmp", 5).directory(5, {{"x", 10}, {"y", 10}}).file(10).end()));
  EXPECT_TRUE(once.put_into(*make_fs<MemFs>(base_, large, clock_)));
}

// It has its place there, and what the base has at its old one stays.
TEST_F(SavedTree, AFolderThatWasMovedIntoAnotherOneIsThere) {
  const Ino home = folder("home");
  (void)file(home, "f", "text");
  ASSERT_TRUE(from_->rename(from_->root(), "home", folder("tmp"), "moved", RenameMode::replace));
  const auto to = restored({written({base_, {}, from_->freeze()})});
  const Ino moved = *to->lookup(*to->lookup(to->root(), "tmp"), "moved");
  EXPECT_EQ(read(*to, *to->lookup(moved, "f")), "text");
  EXPECT_EQ(to->stat(moved)->uid, 1000U);
  EXPECT_EQ(to->lookup(*to->lookup(to->root(), "home"), "f").error(), Errno::noent);
}

TEST_F(SavedTree, NamesAreCountedAsTheyAreRead) {
  std::vector<std::pair<std::string, int>> names;
  for (int i = 0; i < 3000; ++i) names.emplace_back("n" + std::to_string(i), 10);
  const std::string part = Forged().folder("tmp", 5).directory(5, names).file(10).end();
  TreeReader few({1 << 20, 1000});
  EXPECT_EQ(read_part(few, part).error(), Errno::nospc);
  TreeReader enough({1 << 20, 3000});
  EXPECT_TRUE(read_part(enough, part));
}

// Whatever is done, between saves of any distance: the parts together are the tree.
class SavedTreeModel : public SavedTree, public ::testing::WithParamInterface<unsigned> {};

TEST_P(SavedTreeModel, PartsTogetherAreTheTree) {
  std::mt19937 random(GetParam());
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  std::vector<Ino> dirs{folder("home"), folder("tmp")};
  std::vector<std::string> parts{written({base_, {}, from_->freeze()})};
  Frozen saved = from_->freeze();
  for (int step = 0; step < 400; ++step) {
    const Ino dir = dirs[below(dirs.size())];
    const Ino other = dirs[below(dirs.size())];
    const std::string name = "n" + std::to_string(below(6));
    const std::string new_name = "n" + std::to_string(below(6));
    const auto there = from_->lookup(dir, name);
    switch (below(12)) {
      case 0: (void)from_->create(dir, name, {.mode = 0600, .uid = 1000}); break;
      case 1:
        if (const auto made = from_->create(dir, name, {.type = FileType::directory}))
          dirs.push_back(*made);
        break;
      case 2: (void)from_->unlink(dir, name); break;
      case 3:
        if (there && from_->rmdir(dir, name)) std::erase(dirs, *there);
        break;
      case 4: {
        const auto gone = from_->lookup(other, new_name);
        if (from_->rename(dir, name, other, new_name, RenameMode::replace) && gone &&
            !from_->stat(*gone))
          std::erase(dirs, *gone);
        break;
      }
      case 5: (void)from_->rename(dir, name, other, new_name, RenameMode::exchange); break;
      case 6:
        if (there) (void)from_->link(*there, other, new_name);
        break;
      case 7: (void)from_->symlink(dir, name, "target", {}); break;
      case 8:
        if (there)
          (void)from_->set_xattr(*there, "user." + new_name, name, FileSystem::XattrMode::set);
        break;
      default: {
        const auto io = there ? from_->open(*there, Access::write) : Errno::noent;
        if (!io) break;
        const std::uint64_t at = below(20) * 2048;
        switch (below(4)) {
          case 0: (void)(*io)->truncate(at); break;
          case 1: (void)(*io)->punch_hole(at, 1 + below(12'000)); break;
          case 2: (void)(*io)->allocate(at, 1 + below(12'000), AllocateMode::grow); break;
          default:
            (void)(*io)->write(
                at, bytes(std::string(1 + below(9000), 'a' + static_cast<char>(below(26)))));
        }
      }
    }
    if (below(5) != 0) continue;
    const Frozen now = from_->freeze();
    parts.push_back(written({base_, saved, now}));
    EXPECT_EQ(size_of({base_, saved, now}) == 0, parts.back().size() < 25) << parts.back().size();
    saved = now;
  }
  parts.push_back(written({base_, saved, from_->freeze()}));
  const auto to = restored(parts);
  EXPECT_EQ(Seen(*to).text(), Seen(*from_).text());
  EXPECT_EQ(to->usage(), from_->usage());
  EXPECT_EQ(Seen(*restored({written({base_, {}, from_->freeze()})})).text(), Seen(*from_).text());
}
INSTANTIATE_TEST_SUITE_P(Seeds, SavedTreeModel, ::testing::Range(1U, 40U));

TEST_F(SavedTree, TakesNoMoreThanThereIsRoomFor) {
  for (int i = 0; i < 50; ++i) (void)file(folder("home"), "f" + std::to_string(i), "12345");
  (void)file(folder("tmp"), "big", std::string(100'000, 'x'));
  const std::string part = written({base_, {}, from_->freeze()});
  TreeReader small({50'000, 1000});
  EXPECT_EQ(read_part(small, part).error(), Errno::nospc);
  TreeReader reader(large);
  ASSERT_TRUE(read_part(reader, part));
  const auto few = make_fs<MemFs>(base_, Quota{1 << 30, 10}, clock_);
  EXPECT_EQ(reader.put_into(*few).error(), Errno::nospc);
  const auto little = make_fs<MemFs>(base_, Quota{1000, 1000}, clock_);
  EXPECT_EQ(reader.put_into(*little).error(), Errno::nospc);
}

TEST_F(SavedTree, DamageIsAnErrorAndNothingElse) {
  const Ino home = folder("home");
  const Ino dir = *from_->create(home, "d", {.type = FileType::directory});
  ASSERT_TRUE(from_->link(file(dir, "f", std::string(5000, 'x')), home, "g"));
  ASSERT_TRUE(from_->symlink(dir, "l", "target", {}));
  const std::string good = written({base_, {}, from_->freeze()});
  for (std::size_t cut = 0; cut < good.size(); ++cut) {
    TreeReader reader(large);
    EXPECT_FALSE(read_part(reader, std::string_view(good).substr(0, cut)));
  }
  TreeReader twice(large);
  EXPECT_FALSE(read_part(twice, good + good));
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = good;
    for (unsigned n = 0; n < 1 + random() % 3; ++n)
      bad[random() % (i % 2 ? 200 : bad.size())] = static_cast<char>(random());
    TreeReader reader({1 << 20, 100});
    if (!read_part(reader, bad)) continue;
    const auto to = make_fs<MemFs>(base_, Quota{1 << 20, 100}, clock_);
    if (reader.put_into(*to)) (void)Seen(*to);
  }
}

TEST_F(SavedTree, NothingIsSetToRunAsRoot) {
  const Ino ino = file(folder("tmp"), "tool", "x");
  ASSERT_TRUE(from_->set_attr(ino, {.mode = 06755, .uid = 0, .gid = 0}));
  const auto to = restored({written({base_, {}, from_->freeze()})});
  const Ino tmp = *to->lookup(to->root(), "tmp");
  EXPECT_EQ(to->stat(*to->lookup(tmp, "tool"))->mode, 0755U);
}

TEST_F(SavedTree, TheSinksErrorIsTheResult) {
  (void)file(folder("tmp"), "f", std::string(1 << 20, 'x'));
  const auto full = [](std::span<const std::byte>) -> Result<void> { return Errno::nospc; };
  EXPECT_EQ(write_tree({base_, {}, from_->freeze()}, folders, full).error(), Errno::nospc);
}

}  // namespace
}  // namespace cloche::vfs
