// SPDX-License-Identifier: Apache-2.0
#include "vfs/filesystem.h"

#include "base/check.h"
#include "vfs/tree_watch.h"

namespace cloche::vfs {

FsRef::FsRef(FileSystem* fs) noexcept : fs_(fs) {
  if (fs_) ++fs_->refs_;
}

FsRef::~FsRef() {
  if (fs_ && --fs_->refs_ == 0) delete fs_;
}

Node::Node(FileSystem& fs, Ino ino) : fs_(&fs), ino_(ino) { fs.acquire(ino); }

Node::Node(const Node& other) : fs_(other.fs_), ino_(other.ino_) {
  if (ino_ != 0) fs_->acquire(ino_);
}

Node::~Node() {
  if (ino_ != 0) fs_->release(ino_);
}

Result<Stat> Node::stat() const {
  CLOCHE_CHECK(ino_ != 0);
  return fs_->stat(ino_);
}

Result<std::size_t> NodeIo::read(std::uint64_t, std::span<std::byte>) { return Errno::inval; }
Result<std::size_t> NodeIo::write(std::uint64_t, std::span<const std::byte>) {
  return Errno::inval;
}
Result<NodeIo::Appended> NodeIo::append(std::span<const std::byte> in) {
  CLOCHE_ASSIGN(const Stat st, stat());
  CLOCHE_ASSIGN(const std::size_t count, write(st.size, in));
  return Appended{count, st.size + count};
}
Result<void> NodeIo::truncate(std::uint64_t) { return Errno::inval; }
Result<void> NodeIo::allocate(std::uint64_t, std::uint64_t, AllocateMode) { return Errno::notsup; }
Result<void> NodeIo::punch_hole(std::uint64_t, std::uint64_t) { return Errno::notsup; }

// A file system that knows of no holes has data up to the end.
Result<std::uint64_t> NodeIo::seek_data(std::uint64_t offset) {
  CLOCHE_ASSIGN(const Stat st, stat());
  if (offset >= st.size) return Errno::nxio;
  return offset;
}
Result<std::uint64_t> NodeIo::seek_hole(std::uint64_t offset) {
  CLOCHE_ASSIGN(const Stat st, stat());
  if (offset >= st.size) return Errno::nxio;
  return st.size;
}
Result<void> NodeIo::sync() { return {}; }
Result<void> NodeIo::readdir(std::uint64_t, const DirSink&) { return Errno::notdir; }

// What a file system does not offer, it refuses as a read-only one does.
Result<Ino> FileSystem::create(Ino, std::string_view, const NewNode&) { return Errno::rofs; }
Result<Ino> FileSystem::symlink(Ino, std::string_view, std::string_view, const NewNode&) {
  return Errno::rofs;
}
Result<void> FileSystem::link(Ino, Ino, std::string_view) { return Errno::rofs; }
Result<void> FileSystem::unlink(Ino, std::string_view) { return Errno::rofs; }
Result<void> FileSystem::rmdir(Ino, std::string_view) { return Errno::rofs; }
Result<void> FileSystem::rename(Ino, std::string_view, Ino, std::string_view, RenameMode) {
  return Errno::rofs;
}

Result<Node> FileSystem::magic_target(Ino) { return Errno::inval; }
std::uint64_t FileSystem::program(Ino) { return 0; }
std::optional<SharedBytes> FileSystem::shared_content(Ino) { return std::nullopt; }

Result<std::string> FileSystem::get_xattr(Ino, std::string_view) { return Errno::notsup; }
Result<void> FileSystem::set_xattr(Ino, std::string_view, std::string_view, XattrMode) {
  return Errno::notsup;
}
Result<void> FileSystem::remove_xattr(Ino, std::string_view) { return Errno::notsup; }
Result<std::vector<std::string>> FileSystem::list_xattrs(Ino) { return std::vector<std::string>{}; }

FsRef FileSystem::fork_for(std::optional<std::uint64_t>) { return {}; }

void FileSystem::tell_watches(const Change& change) {
  for (TreeWatch* watch : watches_) watch->hear(change);
}

void FileSystem::tell_watches(ChangeKind kind, Ino ino) {
  const Result<Location> at = locate(ino);
  if (at) return tell_watches({kind, at->parent, at->name, ino});
  if (ino == root()) tell_watches({kind, 0, {}, ino});
}

Result<void> check_name(std::string_view name) {
  if (name.size() > name_max) return Errno::nametoolong;
  if (name.empty() || name == "." || name == "..") return Errno::inval;
  if (name.find('/') != name.npos || name.find('\0') != name.npos) return Errno::inval;
  return {};
}

}  // namespace cloche::vfs
