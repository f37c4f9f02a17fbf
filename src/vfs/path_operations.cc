// SPDX-License-Identifier: Apache-2.0
#include "vfs/path_operations.h"

#include <algorithm>
#include <limits>

#include "vfs/checked_operations.h"
#include "vfs/glob_search.h"

namespace cloche::vfs {
namespace {

// How deep remove_all and glob go; what is deeper is ELOOP. Both keep their place on the heap, not
// on the stack.
constexpr std::size_t depth_max = 100'000;

struct Named {
  std::string name;
  Ino ino = 0;
  FileType type = FileType::regular;
};

// All entries but "." and "..", by name.
Result<std::vector<Named>> entries_of(const Node& dir, const Credentials& cred,
                                      std::size_t entries_max) {
  CLOCHE_ASSIGN(const auto io, open(dir, Access::read, cred));
  std::vector<Named> entries;
  bool too_many = false;
  CLOCHE_TRY(io->readdir(0, [&](const DirEntry& entry) {
    if (entry.name == "." || entry.name == "..") return true;
    too_many = entries.size() == entries_max;
    if (!too_many) entries.push_back({std::string(entry.name), entry.ino, entry.type});
    return !too_many;
  }));
  if (too_many) return Errno::fbig;
  std::ranges::sort(entries, {}, &Named::name);
  return entries;
}

Result<FileInfo> info_of(const Node& node, std::string name) {
  FileInfo info{.name = std::move(name), .stat = {}, .target = {}};
  CLOCHE_ASSIGN(info.stat, node.stat());
  if (info.stat.type == FileType::symlink) {
    CLOCHE_ASSIGN(info.target, node.fs().readlink(node.ino()));
  }
  return info;
}

Result<void> write_all(NodeIo& io, std::uint64_t at, std::string_view content) {
  while (!content.empty()) {
    CLOCHE_ASSIGN(const std::size_t n, io.write(at, std::as_bytes(std::span(content))));
    at += n;
    content.remove_prefix(n);
  }
  return {};
}

// What was there stays where there is no room: first there is room for all, then it is written.
// A file system of the host's that cannot promise that leaves what fitted.
Result<void> replace_content(NodeIo& io, std::uint64_t old_size, std::string_view content) {
  if (old_size != 0 && !content.empty()) {
    const Result<void> has_room = io.allocate(0, content.size(), AllocateMode::grow);
    if (!has_room && has_room.error() != Errno::notsup) return has_room;
  }
  const Result<void> written = write_all(io, 0, content);
  if (!written) {
    (void)io.truncate(old_size);
    return written;
  }
  return io.truncate(content.size());
}

Result<void> append_content(NodeIo& io, std::uint64_t old_size, std::string_view content) {
  const Result<void> written = write_all(io, old_size, content);
  if (!written) (void)io.truncate(old_size);
  return written;
}

// Why a path that was resolved cannot be removed or renamed, if it ends in no name.
Result<void> check_names_entry(const Resolved& found) {
  switch (found.last) {
    case LastKind::name: return {};
    case LastKind::dot: return Errno::inval;
    case LastKind::dot_dot: return Errno::notempty;
    case LastKind::root: return Errno::busy;
  }
  return {};
}

}  // namespace

PathOperations::PathOperations(Namespace& space, Node start, Credentials cred)
    : space_(space), start_(std::move(start)), cred_(std::move(cred)) {}

Result<std::string> PathOperations::read_file(std::string_view path, std::uint64_t size_max) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, path, Follow::yes, cred_));
  CLOCHE_ASSIGN(const Stat st, node.stat());
  if (st.type == FileType::directory) return Errno::isdir;
  if (st.type != FileType::regular) return Errno::nxio;
  if (st.size > size_max) return Errno::fbig;
  CLOCHE_ASSIGN(const auto io, open(node, Access::read, cred_));
  // One byte more than was said, to see a file that grows (the host's may).
  std::string content(static_cast<std::size_t>(st.size) + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    CLOCHE_ASSIGN(const std::size_t n,
                  io->read(size, std::as_writable_bytes(std::span(content)).subspan(size)));
    if (n == 0) break;
    size += n;
    if (size > size_max) return Errno::fbig;
    if (size == content.size()) content.resize(content.size() + 65536);
  }
  content.resize(size);
  return content;
}

Result<std::string> PathOperations::read_range(std::string_view path, std::uint64_t offset,
                                               std::size_t size) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, path, Follow::yes, cred_));
  CLOCHE_ASSIGN(const Stat st, node.stat());
  if (st.type == FileType::directory) return Errno::isdir;
  if (st.type != FileType::regular) return Errno::nxio;
  CLOCHE_ASSIGN(const auto io, open(node, Access::read, cred_));
  return vfs::read_range(*io, offset, size);
}

// The mode of a new file is for those who open it later, as with open(2).
Result<std::unique_ptr<NodeIo>> PathOperations::create_open(const Resolved& at, std::uint32_t mode,
                                                            Access access) {
  CLOCHE_ASSIGN(const Node node, create(at.parent, at.name, FileType::regular, mode, cred_));
  return open(node, access, root_credentials());
}

Result<void> PathOperations::write_file(std::string_view path, std::string_view content,
                                        std::uint32_t mode, Parents parents, WriteMode write_mode) {
  if (parents == Parents::make) CLOCHE_TRY(make_parents(path, 0755));
  CLOCHE_ASSIGN(Resolved found, space_.resolve(start_, path, Follow::yes, cred_));
  if (found.trailing_slash) return Errno::isdir;
  if (!found.target) {
    CLOCHE_ASSIGN(const auto io, create_open(found, mode, Access::write));
    const Result<void> written = write_all(*io, 0, content);
    if (!written) (void)unlink(found.parent, found.name, cred_);
    return written;
  }
  CLOCHE_ASSIGN(const Stat st, found.target->stat());
  if (st.type == FileType::directory) return Errno::isdir;
  if (write_mode == WriteMode::make) return Errno::exist;
  if (st.type != FileType::regular) return Errno::nxio;
  CLOCHE_ASSIGN(const auto io, open(*found.target, Access::write, cred_));
  return write_mode == WriteMode::append ? append_content(*io, st.size, content)
                                         : replace_content(*io, st.size, content);
}

Result<std::unique_ptr<NodeIo>> PathOperations::open_file(std::string_view path, Access access,
                                                          std::optional<std::uint32_t> create_mode,
                                                          Existing existing) {
  CLOCHE_ASSIGN(Resolved found, space_.resolve(start_, path, Follow::yes, cred_));
  if (found.target) {
    if (existing == Existing::error) return Errno::exist;
    CLOCHE_ASSIGN(const Stat st, found.target->stat());
    if (st.type == FileType::directory) return Errno::isdir;
    if (st.type != FileType::regular) return Errno::nxio;
    if (found.trailing_slash) return Errno::notdir;
    return open(*found.target, access, cred_);
  }
  if (!create_mode) return Errno::noent;
  if (found.trailing_slash) return Errno::isdir;
  return create_open(found, *create_mode, access);
}

Result<void> PathOperations::set_times(std::string_view path, Timestamp accessed,
                                       Timestamp modified, Follow follow) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, path, follow, cred_));
  using Kind = TimeChange::Kind;
  return vfs::set_times(node, {Kind::at, accessed}, {Kind::at, modified}, {}, cred_);
}

Result<void> PathOperations::change_owner(std::string_view path, std::uint32_t user,
                                          std::uint32_t group) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, path, Follow::yes, cred_));
  return chown(node, user, group, cred_);
}

Result<std::string> PathOperations::real_path(std::string_view path) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, path, Follow::yes, cred_));
  return space_.path_of(node);
}

Result<std::map<std::string, std::string>> PathOperations::attributes(std::string_view path) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, path, Follow::yes, cred_));
  CLOCHE_ASSIGN(const std::vector<std::string> names, node.fs().list_xattrs(node.ino()));
  std::map<std::string, std::string> values;
  for (const std::string& name : names) {
    CLOCHE_ASSIGN(values[name], get_xattr(node, name, cred_));
  }
  return values;
}

Result<void> PathOperations::set_attribute(std::string_view path, std::string_view name,
                                           std::string_view value) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, path, Follow::yes, cred_));
  return set_xattr(node, name, value, FileSystem::XattrMode::set, cred_);
}

Result<void> PathOperations::remove_attribute(std::string_view path, std::string_view name) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, path, Follow::yes, cred_));
  return remove_xattr(node, name, cred_);
}

Result<std::vector<FileInfo>> PathOperations::list(std::string_view path, std::size_t entries_max) {
  CLOCHE_ASSIGN(const Node dir, space_.lookup(start_, path, Follow::yes, cred_));
  CLOCHE_ASSIGN(const auto entries, entries_of(dir, cred_, entries_max));
  std::vector<FileInfo> infos;
  for (const Named& entry : entries) {
    // Through the walk, so that a mount point shows what is mounted.
    const auto node = space_.lookup(dir, entry.name, Follow::no, cred_);
    if (!node && node.error() == Errno::noent) continue;  // the host removed it meanwhile
    if (!node) return node.error();
    Result<FileInfo> info = info_of(*node, entry.name);
    // Removed now; or /proc/self, which is nothing to who is no process.
    if (!info && info.error() == Errno::noent) continue;
    if (!info) return info.error();
    infos.push_back(*std::move(info));
  }
  return infos;
}

Result<FileInfo> PathOperations::stat(std::string_view path, Follow follow) {
  CLOCHE_ASSIGN(const Resolved found, space_.resolve(start_, path, follow, cred_));
  if (!found.target) return Errno::noent;
  return info_of(*found.target, found.last == LastKind::name ? found.name : std::string(path));
}

Result<Node> PathOperations::make_parents(std::string_view path, std::uint32_t mode) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return start_;
  const std::string_view parents = path.substr(0, slash + 1);
  Node at = start_;
  std::size_t begin = 0;
  if (parents.starts_with('/')) at = space_.root();
  while (begin < parents.size()) {
    const std::size_t end = parents.find('/', begin);
    const std::string_view name = parents.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    CLOCHE_ASSIGN(Resolved found, space_.resolve(at, name, Follow::yes, cred_));
    if (found.target) {
      at = *std::move(found.target);
    } else {
      CLOCHE_ASSIGN(at, create(found.parent, found.name, FileType::directory, mode, cred_));
    }
  }
  return at;
}

Result<void> PathOperations::make_dir(std::string_view path, std::uint32_t mode, Parents parents) {
  if (parents == Parents::make) CLOCHE_TRY(make_parents(path, 0755));
  CLOCHE_ASSIGN(const Resolved found, space_.resolve(start_, path, Follow::yes, cred_));
  if (found.target) {
    CLOCHE_ASSIGN(const Stat st, found.target->stat());
    if (parents == Parents::make && st.type == FileType::directory) return {};
    return Errno::exist;
  }
  CLOCHE_TRY(create(found.parent, found.name, FileType::directory, mode, cred_));
  return {};
}

Result<void> PathOperations::remove(std::string_view path) {
  CLOCHE_ASSIGN(const Resolved found, space_.resolve(start_, path, Follow::no, cred_));
  CLOCHE_TRY(check_names_entry(found));
  if (!found.target) return Errno::noent;
  if (&found.target->fs() != &found.parent.fs()) return Errno::busy;
  CLOCHE_ASSIGN(const Stat st, found.target->stat());
  if (st.type != FileType::directory) return unlink(found.parent, found.name, cred_);
  return rmdir(found.parent, found.name, cred_);
}

Result<void> PathOperations::remove_all(std::string_view path) {
  CLOCHE_ASSIGN(const Resolved found, space_.resolve(start_, path, Follow::no, cred_));
  CLOCHE_TRY(check_names_entry(found));
  if (!found.target) return Errno::noent;
  if (&found.target->fs() != &found.parent.fs()) return Errno::busy;
  CLOCHE_ASSIGN(const Stat st, found.target->stat());
  if (st.type != FileType::directory) return unlink(found.parent, found.name, cred_);

  // Down to the leaves and up again; each level remembers the directory and its name in the one
  // above.
  struct Level {
    Node dir;
    std::string name;
    std::vector<Named> left;
  };
  std::vector<Level> levels;
  const auto descend = [&](std::string name, Node dir) -> Result<void> {
    if (levels.size() >= depth_max) return Errno::loop;
    CLOCHE_ASSIGN(auto entries, entries_of(dir, cred_, std::numeric_limits<std::size_t>::max()));
    levels.push_back({std::move(dir), std::move(name), std::move(entries)});
    return {};
  };
  CLOCHE_TRY(descend(found.name, *found.target));
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.left.empty()) {
      const Level done = std::move(level);
      levels.pop_back();
      const Node& parent = levels.empty() ? found.parent : levels.back().dir;
      CLOCHE_TRY(rmdir(parent, done.name, cred_));
      continue;
    }
    const Named entry = std::move(level.left.back());
    level.left.pop_back();
    const Node dir = level.dir;
    const auto ino = dir.fs().lookup(dir.ino(), entry.name);
    if (!ino && ino.error() == Errno::noent) continue;
    if (!ino) return ino.error();
    Node child(dir.fs(), *ino);
    if (space_.mounted_on(child)) return Errno::busy;
    CLOCHE_ASSIGN(const Stat child_st, child.stat());
    if (child_st.type == FileType::directory) {
      CLOCHE_TRY(descend(entry.name, std::move(child)));
    } else {
      CLOCHE_TRY(unlink(dir, entry.name, cred_));
    }
  }
  return {};
}

Result<void> PathOperations::rename(std::string_view from, std::string_view to, RenameMode mode) {
  CLOCHE_ASSIGN(const Resolved old_place, space_.resolve(start_, from, Follow::no, cred_));
  if (old_place.last != LastKind::name) return Errno::busy;
  if (!old_place.target) return Errno::noent;
  CLOCHE_ASSIGN(const Resolved new_place, space_.resolve(start_, to, Follow::no, cred_));
  if (new_place.last != LastKind::name) return Errno::busy;
  CLOCHE_ASSIGN(const Stat st, old_place.target->stat());
  if (new_place.trailing_slash && st.type != FileType::directory) return Errno::notdir;
  // A mount point stays where it is.
  if (&old_place.target->fs() != &old_place.parent.fs()) return Errno::busy;
  if (new_place.target && &new_place.target->fs() != &new_place.parent.fs()) return Errno::busy;
  return vfs::rename(old_place.parent, old_place.name, new_place.parent, new_place.name, mode,
                     cred_);
}

Result<void> PathOperations::chmod(std::string_view path, std::uint32_t mode) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, path, Follow::yes, cred_));
  return vfs::chmod(node, mode, cred_);
}

Result<void> PathOperations::symlink(std::string_view target, std::string_view path) {
  CLOCHE_ASSIGN(const Resolved found, space_.resolve(start_, path, Follow::no, cred_));
  if (found.target) return Errno::exist;
  if (found.trailing_slash) return Errno::noent;
  CLOCHE_TRY(vfs::symlink(found.parent, found.name, target, cred_));
  return {};
}

Result<void> PathOperations::link(std::string_view existing, std::string_view path) {
  CLOCHE_ASSIGN(const Node node, space_.lookup(start_, existing, Follow::no, cred_));
  CLOCHE_ASSIGN(const Resolved found, space_.resolve(start_, path, Follow::no, cred_));
  if (found.target) return Errno::exist;
  if (found.trailing_slash) return Errno::noent;
  return vfs::link(node, found.parent, found.name, cred_);
}

Result<std::vector<std::string>> PathOperations::glob(std::string_view pattern,
                                                      std::size_t matches_max) {
  struct Tree {
    using Place = Node;
    Namespace& space;
    const Credentials& cred;

    std::optional<Node> find(const Node& dir, const std::string& /*path*/, std::string_view name,
                             Follow follow) {
      auto node = space.lookup(dir, name, follow, cred);
      return node ? std::optional(*std::move(node)) : std::nullopt;
    }
    std::optional<Node> enter(const Node& dir, const GlobEntry& entry, Follow follow) {
      return find(dir, {}, entry.name, follow);
    }
    std::optional<std::vector<GlobEntry>> list(const Node& dir, const std::string& /*path*/) {
      auto entries = entries_of(dir, cred, std::numeric_limits<std::size_t>::max());
      if (!entries) return std::nullopt;
      std::vector<GlobEntry> shown;
      shown.reserve(entries->size());
      for (Named& entry : *entries)
        shown.push_back({std::move(entry.name), entry.type == FileType::directory});
      return shown;
    }
  };
  Tree tree{space_, cred_};
  return GlobSearch(tree, pattern, {matches_max, depth_max})
      .run(pattern.starts_with('/') ? space_.root() : start_);
}

Result<std::unique_ptr<TreeWatch>> PathOperations::watch(std::string_view path,
                                                         TreeWatch::Depth depth,
                                                         std::function<void()> changed) {
  CLOCHE_ASSIGN(Node node, space_.lookup(start_, path, Follow::yes, cred_));
  CLOCHE_TRY(check_access(node, cred_, Access::read));
  return TreeWatch::make(std::move(node), depth, std::move(changed));
}

}  // namespace cloche::vfs
