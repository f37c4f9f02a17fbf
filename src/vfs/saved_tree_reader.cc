// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vfs/memfs_impl.h"
#include "vfs/saved_tree_format.h"

namespace cloche::vfs {

using namespace memfs;
using namespace saved;

namespace {

constexpr std::uint64_t folders_max = 64;

struct SavedNode {
  Inode inode;                                    // attributes and content
  std::map<std::string, Ino, std::less<>> names;  // of a directory
};

// A directory of the base, and the number that it had.
struct SavedFolder {
  std::string path;
  Ino number = 0;
};

bool is_saved_type(FileType type) {
  return type == FileType::regular || type == FileType::directory || type == FileType::symlink ||
         type == FileType::fifo || type == FileType::socket;
}

}  // namespace

struct TreeReader::Impl {
  explicit Impl(Quota limits) : room(limits) {}

  Result<void> read_node(Decoder& in);
  Result<void> read_attributes(Decoder& in, Inode& inode);
  Result<void> read_content(Decoder& in, Content& content);
  Result<void> read_pieces(Decoder& in, Content& content, std::uint64_t size);
  Result<void> read_names(Decoder& in, SavedNode& node);
  void remove(Ino number);

  // What has a name in a folder, or below it.
  std::unordered_set<Ino> inside_folders() const;
  Result<void> put_folder(MemFs& files, MemFs::Impl& to, const SavedFolder& folder);
  Result<void> put_names(MemFs& files, MemFs::Impl& to, Ino directory, const SavedNode& from);
  Result<Ino> put_node(MemFs& files, MemFs::Impl& to, Ino directory, std::string_view name,
                       Ino number, const SavedNode& from);
  void put_attributes(MemFs::Impl& to) const;

  Quota room;
  std::uint64_t bytes = 0;  // of content and attributes, as the quota counts them
  std::uint64_t names = 0;
  std::vector<SavedFolder> folders;
  std::unordered_map<Ino, SavedNode> nodes;

  // While they are put into a file system.
  std::unordered_map<Ino, Ino> made;          // by the number that they had
  std::unordered_set<Ino> places;             // the same, by the number that they have
  std::vector<std::pair<Ino, Ino>> unfilled;  // directories that are made: theirs, and where
};

TreeReader::TreeReader(Quota room) : impl_(std::make_unique<Impl>(room)) {}
TreeReader::~TreeReader() = default;

Result<void> TreeReader::read(const ByteSource& source) {
  Decoder in(source);
  for (;;) {
    CLOCHE_ASSIGN(const std::uint8_t kind, in.byte());
    switch (static_cast<Record>(kind)) {
      case Record::folder: {
        CLOCHE_ASSIGN(std::string path, in.text(path_max));
        CLOCHE_ASSIGN(const Ino number, in.number());
        const auto same = [&](const SavedFolder& folder) { return folder.path == path; };
        if (std::ranges::any_of(impl_->folders, same)) break;
        if (impl_->folders.size() >= folders_max) return Errno::inval;
        impl_->folders.push_back({std::move(path), number});
        break;
      }
      case Record::node: CLOCHE_TRY(impl_->read_node(in)); break;
      case Record::gone: {
        CLOCHE_ASSIGN(const Ino number, in.number());
        impl_->remove(number);
        break;
      }
      case Record::end: return in.expect_end();
      default: return Errno::inval;
    }
  }
}

void TreeReader::Impl::remove(Ino number) {
  const auto it = nodes.find(number);
  if (it == nodes.end()) return;
  bytes -= it->second.inode.content.charge() + MemFs::Impl::extra_charge(it->second.inode);
  names -= it->second.names.size();
  nodes.erase(it);
}

Result<void> TreeReader::Impl::read_node(Decoder& in) {
  CLOCHE_ASSIGN(const Ino number, in.number());
  CLOCHE_ASSIGN(const std::uint8_t fresh, in.byte());
  CLOCHE_ASSIGN(const std::uint8_t type, in.byte());
  if (fresh > 1 || type > static_cast<std::uint8_t>(FileType::block) ||
      !is_saved_type(static_cast<FileType>(type)))
    return Errno::inval;
  if (static_cast<Fresh>(fresh) == Fresh::yes) {
    remove(number);
    // Names are counted when they get their place; a node without a name costs memory too.
    if (nodes.size() / 2 > room.inodes) return Errno::nospc;
  } else if (!nodes.contains(number)) {
    return Errno::inval;
  }
  SavedNode& node = nodes[number];
  Inode& inode = node.inode;
  if (static_cast<Fresh>(fresh) == Fresh::no && inode.type != static_cast<FileType>(type))
    return Errno::inval;
  inode.type = static_cast<FileType>(type);
  bytes -= MemFs::Impl::extra_charge(inode);
  CLOCHE_TRY(read_attributes(in, inode));
  if (inode.type == FileType::symlink) {
    CLOCHE_ASSIGN(std::string target, in.text(target_max));
    if (target.empty() || target.find('\0') != target.npos) return Errno::inval;
    if (!inode.extra) inode.extra = Ref<Extra>::adopt(new Extra);
    inode.extra.mut().target = std::move(target);
  }
  bytes += MemFs::Impl::extra_charge(inode);
  if (bytes > room.bytes) return Errno::nospc;
  if (inode.type == FileType::regular) return read_content(in, inode.content);
  if (inode.type == FileType::directory) return read_names(in, node);
  return {};
}

Result<void> TreeReader::Impl::read_attributes(Decoder& in, Inode& inode) {
  CLOCHE_ASSIGN(inode.mode, in.small_number(mode::all));
  CLOCHE_ASSIGN(inode.uid, in.small_number(UINT32_MAX));
  CLOCHE_ASSIGN(inode.gid, in.small_number(UINT32_MAX));
  // Nothing in a sandbox runs as root, whatever a file says.
  if (inode.uid == 0) inode.mode &= ~mode::set_uid;
  if (inode.gid == 0) inode.mode &= ~mode::set_gid;
  for (Timestamp* time : {&inode.atime, &inode.mtime, &inode.ctime, &inode.btime}) {
    CLOCHE_ASSIGN(time->s, in.signed_number());
    CLOCHE_ASSIGN(time->ns, in.small_number(999'999'999));
  }
  CLOCHE_ASSIGN(const std::uint64_t count, in.number());
  if (!inode.extra && count == 0) return {};
  Ref<Extra> extra = Ref<Extra>::adopt(new Extra);
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    CLOCHE_ASSIGN(std::string name, in.text(name_max));
    CLOCHE_ASSIGN(std::string value, in.text(xattr_value_max));
    taken += name.size() + value.size() + xattr_overhead;
    if (taken > room.bytes) return Errno::nospc;
    extra.mut().xattrs.insert_or_assign(std::move(name), std::move(value));
  }
  inode.extra = std::move(extra);
  return {};
}

Result<void> TreeReader::Impl::read_content(Decoder& in, Content& content) {
  CLOCHE_ASSIGN(const std::uint64_t size, in.number(file_size_max));
  const std::uint64_t before = content.charge();
  const Result<void> read = read_pieces(in, content, size);
  bytes += content.charge() - before;
  return read;
}

Result<void> TreeReader::Impl::read_pieces(Decoder& in, Content& content, std::uint64_t size) {
  const std::uint64_t others = bytes - content.charge();
  const auto left = [&] {
    const std::uint64_t used = others + content.charge();
    return room.bytes > used ? room.bytes - used : 0;
  };
  CLOCHE_TRY(content.truncate(size, left()));
  const std::uint64_t pages = (size + page_size - 1) / page_size;
  std::vector<std::byte> buffer(page_size);
  for (;;) {
    CLOCHE_ASSIGN(const std::uint8_t kind, in.byte());
    if (static_cast<Piece>(kind) == Piece::end) return {};
    CLOCHE_ASSIGN(const std::uint64_t page, in.number());
    if (page >= pages) return Errno::inval;
    const std::uint64_t begin = page * page_size;
    if (static_cast<Piece>(kind) == Piece::data) {
      CLOCHE_ASSIGN(const std::uint64_t count, in.number(std::min(page_size, size - begin)));
      const auto data = std::span(buffer).first(static_cast<std::size_t>(count));
      CLOCHE_TRY(in.bytes(data));
      // What was there before goes whole: a page may hold less than the old one.
      CLOCHE_TRY(content.punch_hole(begin, std::min(page_size, size - begin), left()));
      CLOCHE_ASSIGN(const std::size_t written, content.write(begin, data, left()));
      if (written != data.size()) return Errno::nospc;
      continue;
    }
    CLOCHE_ASSIGN(const std::uint64_t count,
                  in.number(std::min(pages - page, pages_of_one_piece_max)));
    if (count == 0) return Errno::inval;
    const std::uint64_t length = std::min(count * page_size, size - begin);
    CLOCHE_TRY(content.punch_hole(begin, length, left()));
    if (static_cast<Piece>(kind) == Piece::zeros) {
      CLOCHE_TRY(content.allocate(begin, length, AllocateMode::keep_size, left()));
    } else if (static_cast<Piece>(kind) != Piece::hole) {
      return Errno::inval;
    }
  }
}

Result<void> TreeReader::Impl::read_names(Decoder& in, SavedNode& node) {
  for (;;) {
    CLOCHE_ASSIGN(const std::uint8_t kind, in.byte());
    if (static_cast<Name>(kind) == Name::end) return {};
    CLOCHE_ASSIGN(std::string name, in.text(name_max));
    if (static_cast<Name>(kind) == Name::remove) {
      names -= node.names.erase(name);
      continue;
    }
    if (static_cast<Name>(kind) != Name::add) return Errno::inval;
    CLOCHE_TRY(check_name(name));
    CLOCHE_ASSIGN(const Ino number, in.number());
    if (node.names.insert_or_assign(std::move(name), number).second && ++names / 2 > room.inodes)
      return Errno::nospc;
  }
}

Result<void> TreeReader::put_into(MemFs& files) {
  impl_->made.clear();
  impl_->places.clear();
  impl_->unfilled.clear();
  const std::unordered_set<Ino> inside = impl_->inside_folders();
  for (const SavedFolder& folder : impl_->folders) {
    // One that was moved into another one has its place there.
    if (!inside.contains(folder.number)) CLOCHE_TRY(impl_->put_folder(files, *files.impl_, folder));
  }
  // None is inside itself.
  for (const SavedFolder& folder : impl_->folders) {
    if (impl_->nodes.contains(folder.number) && !impl_->made.contains(folder.number))
      return Errno::inval;
  }
  impl_->put_attributes(*files.impl_);
  return {};
}

std::unordered_set<Ino> TreeReader::Impl::inside_folders() const {
  std::unordered_set<Ino> inside;
  std::vector<Ino> todo;
  todo.reserve(folders.size());
  for (const SavedFolder& folder : folders) todo.push_back(folder.number);
  while (!todo.empty()) {
    const auto node = nodes.find(todo.back());
    todo.pop_back();
    if (node == nodes.end()) continue;
    for (const auto& [name, number] : node->second.names) {
      if (inside.insert(number).second) todo.push_back(number);
    }
  }
  return inside;
}

// A loop, not a recursion: trees may be deep.
Result<void> TreeReader::Impl::put_folder(MemFs& files, MemFs::Impl& to,
                                          const SavedFolder& folder) {
  if (!nodes.contains(folder.number)) return {};  // it is as the base has it
  Ino at = files.root();
  for (std::string_view rest = folder.path; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    CLOCHE_ASSIGN(at, files.lookup(at, rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  CLOCHE_TRY(to.get_own_directory(at));
  // One that is filled twice would lose what it got first.
  if (at == files.root() || !made.emplace(folder.number, at).second || !places.insert(at).second)
    return Errno::inval;
  unfilled.emplace_back(folder.number, at);
  while (!unfilled.empty()) {
    const auto [number, directory] = unfilled.back();
    unfilled.pop_back();
    CLOCHE_TRY(put_names(files, to, directory, nodes.at(number)));
  }
  return {};
}

Result<void> TreeReader::Impl::put_names(MemFs& files, MemFs::Impl& to, Ino directory,
                                         const SavedNode& from) {
  if (from.inode.type != FileType::directory) return Errno::inval;
  for (const auto& [name, number] : from.names) {
    const auto node = nodes.find(number);
    if (node == nodes.end()) return Errno::inval;
    CLOCHE_ASSIGN(const Ino ino, put_node(files, to, directory, name, number, node->second));
    if (node->second.inode.type == FileType::directory) unfilled.emplace_back(number, ino);
  }
  return {};
}

Result<Ino> TreeReader::Impl::put_node(MemFs& files, MemFs::Impl& to, Ino directory,
                                       std::string_view name, Ino number, const SavedNode& from) {
  const bool is_folder = from.inode.type == FileType::directory;
  const auto there = made.find(number);
  // A directory has one place; so there are no rings either.
  if (there != made.end() && is_folder) return Errno::inval;
  if (const auto old = files.lookup(directory, name)) {
    if (places.contains(*old)) return Errno::inval;  // two in one place
    CLOCHE_ASSIGN(const Stat stat, files.stat(*old));
    if (is_folder && stat.type == FileType::directory && MemFs::Impl::is_own(*old)) {
      made.emplace(number, *old);
      places.insert(*old);
      return *old;
    }
    // What is mounted over it stays where it is.
    if (stat.type == FileType::regular && to.handles.has(*old)) return *old;
    CLOCHE_TRY(stat.type == FileType::directory ? files.rmdir(directory, name)
                                                : files.unlink(directory, name));
  }
  if (there != made.end()) {
    CLOCHE_TRY(files.link(there->second, directory, name));
    return there->second;
  }
  CLOCHE_ASSIGN(const Inode* parent, to.get_own_directory(directory));
  CLOCHE_TRY(to.check_new_name(*parent, name));
  if (is_folder && parent->nlink >= links_max) return Errno::mlink;
  const std::uint64_t charge = from.inode.content.charge() + MemFs::Impl::extra_charge(from.inode);
  if (charge > to.room_bytes()) return Errno::nospc;
  auto inode = Ref<Inode>::adopt(Inode::clone(from.inode));
  Inode& fresh = inode.mut();
  fresh.base = fresh.orphan_charged = false;
  fresh.nlink = is_folder ? 2 : 1;
  if (is_folder) fresh.dir = Ref<Directory>::adopt(new Directory);
  const Ino ino = to.add_inode(directory, name, std::move(inode));
  to.state.usage.bytes += from.inode.content.charge();
  made.emplace(number, ino);
  places.insert(ino);
  return ino;
}

// At the end: each name that was added has changed its directory's times.
void TreeReader::Impl::put_attributes(MemFs::Impl& to) const {
  for (const auto& [number, ino] : made) {
    const Inode& from = nodes.at(number).inode;
    Inode& inode = to.mut(ino);
    inode.mode = from.mode;
    inode.uid = from.uid;
    inode.gid = from.gid;
    inode.atime = from.atime;
    inode.mtime = from.mtime;
    inode.ctime = from.ctime;
    inode.btime = from.btime;
    if (inode.extra.get() == from.extra.get()) continue;
    // One that was there already.
    to.state.usage.bytes += MemFs::Impl::extra_charge(from) - MemFs::Impl::extra_charge(inode);
    inode.extra = from.extra;
  }
}

}  // namespace cloche::vfs
