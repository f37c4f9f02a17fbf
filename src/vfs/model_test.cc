// SPDX-License-Identifier: Apache-2.0
// Random operations on MemFs and its forks, against a model so plain that it cannot be wrong: a map
// from paths to values, copied whole at each fork. After every step all results agree, and so does
// the quota.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "vfs/memfs.h"

namespace cloche::vfs {
namespace {

struct ModelFile {
  std::string content;
  std::map<std::uint64_t, bool> pages;  // held
  int links = 0;
};

struct ModelEntry {
  FileType type = FileType::regular;
  std::shared_ptr<ModelFile> file;  // regular
  std::string target;               // symlink
};

constexpr std::uint64_t page = 4096;

class Model {
 public:
  Model() { entries["/"] = {FileType::directory, nullptr, {}}; }
  // Deep: shared files stay shared within the copy only.
  Model(const Model& other) : entries(other.entries) {
    std::map<ModelFile*, std::shared_ptr<ModelFile>> copies;
    for (auto& [path, entry] : entries) {
      if (!entry.file) continue;
      auto& copy = copies[entry.file.get()];
      if (!copy) copy = std::make_shared<ModelFile>(*entry.file);
      entry.file = copy;
    }
  }

  Model& operator=(const Model&) = delete;
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;

  static std::string child(const std::string& dir, const std::string& name) {
    return dir == "/" ? "/" + name : dir + "/" + name;
  }
  bool has_children(const std::string& dir) const {
    const auto it = entries.upper_bound(dir + "/");
    return it != entries.end() && it->first.starts_with(dir + "/");
  }
  void remove(const std::string& path) {
    if (auto& file = entries[path].file) --file->links;
    entries.erase(path);
  }
  void move(const std::string& from, const std::string& to) {
    std::map<std::string, ModelEntry> moved;
    for (auto it = entries.begin(); it != entries.end();) {
      if (it->first == from || it->first.starts_with(from + "/")) {
        moved[to + it->first.substr(from.size())] = it->second;
        it = entries.erase(it);
      } else {
        ++it;
      }
    }
    entries.merge(moved);
  }
  Usage usage() const {
    Usage usage;
    std::map<const ModelFile*, bool> seen;
    for (const auto& [path, entry] : entries) {
      if (path == "/") continue;
      ++usage.inodes;
      usage.bytes += entry.target.size();
      if (!entry.file || seen[entry.file.get()]) continue;
      seen[entry.file.get()] = true;
      const std::uint64_t size = entry.file->content.size();
      for (const auto& [number, held] : entry.file->pages) {
        usage.bytes += number == size / page ? size % page : page;
      }
    }
    return usage;
  }

  std::map<std::string, ModelEntry> entries;
};

struct World {
  TypedFsRef<MemFs> fs;
  Model model;
};

class ModelTest : public ::testing::TestWithParam<unsigned> {
 protected:
  std::size_t pick(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  std::string some_path(const Model& model, FileType type) {
    std::vector<std::string> paths;
    for (const auto& [path, entry] : model.entries) {
      if (entry.type == type) paths.push_back(path);
    }
    return paths.empty() ? "" : paths[pick(paths.size())];
  }
  std::string some_name() { return std::string(1, static_cast<char>('a' + pick(12))); }

  static Ino find(MemFs& fs, const std::string& path) {
    Ino at = fs.root();
    for (std::size_t begin = 1; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      at = *fs.lookup(at, path.substr(begin, end - begin));
      begin = end + 1;
    }
    return at;
  }

  void step(World& world);
  void write(World& world, const std::string& path);
  void rename(World& world);
  void compare(World& world);

  std::mt19937 random_{GetParam()};
};

void ModelTest::write(World& world, const std::string& path) {
  const Ino ino = find(*world.fs, path);
  ModelFile& file = *world.model.entries[path].file;
  const auto io = *world.fs->open(ino, Access::read_write);
  const std::uint64_t at = pick(30'000);
  switch (pick(4)) {
    case 0: {
      ASSERT_TRUE(io->truncate(at).ok());
      if (at < file.content.size())
        file.pages.erase(file.pages.lower_bound((at + page - 1) / page), file.pages.end());
      file.content.resize(at);
      break;
    }
    case 1: {
      const std::uint64_t size = 1 + pick(20'000);
      ASSERT_TRUE(io->punch_hole(at, size).ok());
      const std::uint64_t end = at + size;
      for (std::uint64_t i = at; i < std::min<std::uint64_t>(end, file.content.size()); ++i)
        file.content[i] = 0;
      for (auto it = file.pages.begin(); it != file.pages.end();) {
        const bool covered =
            it->first * page >= at && (end >= file.content.size() || (it->first + 1) * page <= end);
        it = covered ? file.pages.erase(it) : std::next(it);
      }
      break;
    }
    default: {
      std::string data(1 + pick(9000), '\0');
      for (char& c : data) c = static_cast<char>(random_());
      ASSERT_EQ(*io->write(at, std::as_bytes(std::span(data))), data.size());
      if (file.content.size() < at + data.size()) file.content.resize(at + data.size());
      file.content.replace(at, data.size(), data);
      for (std::uint64_t p = at / page; p <= (at + data.size() - 1) / page; ++p)
        file.pages[p] = true;
    }
  }
}

void ModelTest::rename(World& world) {
  auto& entries = world.model.entries;
  auto it = entries.begin();
  std::advance(it, static_cast<std::ptrdiff_t>(pick(entries.size())));
  const std::string from = it->first;
  const std::string dir = some_path(world.model, FileType::directory);
  const std::string name = some_name(), to = Model::child(dir, name);
  if (from == "/") return;
  const std::size_t slash = from.rfind('/');
  const std::string from_dir = slash == 0 ? "/" : from.substr(0, slash);
  const auto mode = static_cast<RenameMode>(pick(3));
  const auto result = world.fs->rename(find(*world.fs, from_dir), from.substr(slash + 1),
                                       find(*world.fs, dir), name, mode);
  const auto target = entries.find(to);
  const bool there = target != entries.end();
  const ModelEntry moved = entries[from];
  const bool from_is_dir = moved.type == FileType::directory;
  const auto within = [](const std::string& path, const std::string& top) {
    return path == top || path.starts_with(top + "/");
  };
  Errno expected{};
  if (mode == RenameMode::no_replace && there) {
    expected = Errno::exist;
  } else if (mode == RenameMode::exchange && !there) {
    expected = Errno::noent;
  } else if (from_is_dir && within(dir, from)) {
    expected = Errno::inval;
  } else if (there && (from == to || (moved.file && moved.file == target->second.file))) {
    ASSERT_TRUE(result.ok());
    return;
  } else if (mode == RenameMode::exchange) {
    if (target->second.type == FileType::directory && within(from_dir, to)) expected = Errno::inval;
  } else if (there) {
    const bool to_is_dir = target->second.type == FileType::directory;
    if (to_is_dir && !from_is_dir)
      expected = Errno::isdir;
    else if (!to_is_dir && from_is_dir)
      expected = Errno::notdir;
    else if (to_is_dir && world.model.has_children(to))
      expected = Errno::notempty;
  }
  ASSERT_EQ(result ? Errno{} : result.error(), expected) << from << " -> " << to;
  if (!result) return;
  if (mode == RenameMode::exchange) {
    world.model.move(from, "/swap");
    world.model.move(to, from);
    world.model.move("/swap", to);
    return;
  }
  if (there) world.model.remove(to);
  world.model.move(from, to);
}

void ModelTest::step(World& world) {
  MemFs& fs = *world.fs;
  Model& model = world.model;
  const std::string dir = some_path(model, FileType::directory);
  const std::string name = some_name(), path = Model::child(dir, name);
  const auto there = model.entries.find(path);
  const bool free = there == model.entries.end();
  const Ino dir_ino = find(fs, dir);
  switch (pick(10)) {
    case 0:
    case 1: {
      const FileType type = pick(3) == 0 ? FileType::directory : FileType::regular;
      const auto made = fs.create(dir_ino, name, {.type = type});
      ASSERT_EQ(made.ok(), free);
      if (!free) break;
      auto& entry = model.entries[path] = {type, nullptr, {}};
      if (type == FileType::regular) {
        entry.file = std::make_shared<ModelFile>();
        entry.file->links = 1;
      }
      break;
    }
    case 2: {
      const std::string target(1 + pick(50), 't');
      ASSERT_EQ(fs.symlink(dir_ino, name, target, {}).ok(), free);
      if (free) model.entries[path] = {FileType::symlink, nullptr, target};
      break;
    }
    case 3: {
      const std::string from = some_path(model, FileType::regular);
      if (from.empty()) break;
      ASSERT_EQ(fs.link(find(fs, from), dir_ino, name).ok(), free);
      if (!free) break;
      ModelEntry entry = model.entries[from];
      ++entry.file->links;
      model.entries[path] = entry;
      break;
    }
    case 4: {
      const auto gone = fs.unlink(dir_ino, name);
      ASSERT_EQ(gone.ok(), !free && there->second.type != FileType::directory);
      if (gone) model.remove(path);
      break;
    }
    case 5: {
      const auto gone = fs.rmdir(dir_ino, name);
      ASSERT_EQ(gone.ok(),
                !free && there->second.type == FileType::directory && !model.has_children(path));
      if (gone) model.remove(path);
      break;
    }
    case 6: rename(world); break;
    default: {
      const std::string file = some_path(model, FileType::regular);
      if (!file.empty()) write(world, file);
    }
  }
}

void ModelTest::compare(World& world) {
  ASSERT_EQ(world.fs->usage(), world.model.usage());
  std::map<std::string, ModelEntry> seen;
  std::vector<std::pair<std::string, Ino>> left{{"/", world.fs->root()}};
  std::size_t count = 0;
  while (!left.empty()) {
    const auto [path, ino] = left.back();
    left.pop_back();
    ++count;
    const auto it = world.model.entries.find(path);
    ASSERT_NE(it, world.model.entries.end()) << path;
    const Stat st = *world.fs->stat(ino);
    ASSERT_EQ(st.type, it->second.type) << path;
    if (path != "/" && st.type == FileType::directory) {
      ASSERT_EQ(world.fs->locate(ino)->name, path.substr(path.rfind('/') + 1));
    }
    if (st.type == FileType::symlink) {
      ASSERT_EQ(*world.fs->readlink(ino), it->second.target);
    } else if (st.type == FileType::regular) {
      std::string content(it->second.file->content.size() + 1, '?');
      const auto n =
          (*world.fs->open(ino, Access::read))->read(0, std::as_writable_bytes(std::span(content)));
      content.resize(*n);
      ASSERT_TRUE(content == it->second.file->content) << path;
      ASSERT_EQ(st.nlink, static_cast<unsigned>(it->second.file->links)) << path;
    } else {
      unsigned subdirs = 0;
      ASSERT_TRUE((*world.fs->open(ino, Access::read))
                      ->readdir(0,
                                [&](const DirEntry& e) {
                                  if (e.name == "." || e.name == "..") return true;
                                  left.emplace_back(Model::child(path, std::string(e.name)), e.ino);
                                  subdirs += e.type == FileType::directory ? 1 : 0;
                                  return true;
                                })
                      .ok());
      ASSERT_EQ(st.nlink, 2 + subdirs) << path;
    }
  }
  ASSERT_EQ(count, world.model.entries.size());
}

TEST_P(ModelTest, AgreesWithThePlainModel) {
  std::vector<World> worlds;
  worlds.push_back({make_fs<MemFs>(Quota{}, host_clock()), {}});
  for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) {
    World& world = worlds[pick(worlds.size())];
    step(world);
    if (pick(100) == 0) {
      World fork{world.fs->fork({}), world.model};
      if (worlds.size() < 6) {
        worlds.push_back(std::move(fork));
      } else {
        worlds[pick(worlds.size())] = std::move(fork);
      }
    }
    if (i % 20 == 0) compare(worlds[pick(worlds.size())]);
  }
  for (World& world : worlds) {
    if (!HasFatalFailure()) compare(world);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ModelTest, ::testing::Range(1u, 13u));

}  // namespace
}  // namespace cloche::vfs
