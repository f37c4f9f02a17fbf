// SPDX-License-Identifier: Apache-2.0
// MemFs: names come, go and move. Every operation checks everything first and then cannot fail.

#include <algorithm>

#include "vfs/memfs_impl.h"

namespace cloche::vfs {

using namespace memfs;

Result<void> MemFs::Impl::check_new_name(const Inode& dir, std::string_view name) const {
  CLOCHE_TRY(check_name(name));
  if (dir.dir->find(name)) return Errno::exist;
  if (!dir.dir->has_room(name.size())) return Errno::nospc;
  if (state.next_ino > own_ino_max) return Errno::nospc;
  if (!building_base && !has_inode_room()) return Errno::nospc;
  return {};
}

void MemFs::Impl::add_entry(Ino dir, std::string_view name, Entry entry) {
  const Timestamp now = clock.now();
  const std::uint64_t cookie = mut_directory(dir).add(name, entry);
  Inode& parent = mut(dir);
  parent.mtime = parent.ctime = now;
  if (entry.type == FileType::directory && !entry.graft) ++parent.nlink;
  if (!is_own(entry.ino)) return;
  Inode& inode = mut(entry.ino);
  inode.parent = dir;
  inode.parent_cookie = cookie;
  inode.ctime = now;
}

Ino MemFs::Impl::add_inode(Ino dir, std::string_view name, Ref<Inode> inode) {
  const Ino ino = state.next_ino++;
  const bool charged = !building_base;
  Inode& fresh = inode.mut();
  fresh.base = building_base;
  fresh.atime = fresh.mtime = fresh.ctime = fresh.btime = clock.now();
  const FileType type = fresh.type;
  state.usage.bytes += extra_charge(fresh);
  state.usage.inodes += charged ? 1 : 0;
  state.inodes.put(ino, std::move(inode));
  add_entry(dir, name, {.ino = ino, .type = type, .charged = charged});
  return ino;
}

void MemFs::Impl::change_entry(Ino dir, std::string_view name, const Entry& now) {
  const FileType was = mut_directory(dir).find(name)->type;
  const std::uint64_t cookie = mut_directory(dir).replace(name, now.ino, now.type, now.charged);
  Inode& parent = mut(dir);
  parent.mtime = parent.ctime = clock.now();
  parent.nlink += now.type == FileType::directory ? 1 : 0;
  parent.nlink -= was == FileType::directory ? 1 : 0;
  Inode& inode = mut(now.ino);
  inode.parent = dir;
  inode.parent_cookie = cookie;
  inode.ctime = parent.ctime;
}

Entry MemFs::Impl::remove_entry(Ino dir, std::string_view name) {
  const Timestamp now = clock.now();
  Directory& names = mut_directory(dir);
  const Entry entry = *names.find(name);
  names.remove(name);
  Inode& parent = mut(dir);
  parent.mtime = parent.ctime = now;
  if (entry.type == FileType::directory && !entry.graft) --parent.nlink;
  return entry;
}

void MemFs::Impl::drop_link(Ino ino, bool charged) {
  Inode& inode = mut(ino);
  inode.ctime = clock.now();
  inode.nlink = inode.type == FileType::directory ? 0 : inode.nlink - 1;
  if (inode.nlink == 0 && handles.has(ino)) {
    inode.orphan_charged = charged;
    state.orphans.insert(ino);
    return;
  }
  if (charged) --state.usage.inodes;
  if (inode.nlink == 0) free_inode(ino);
}

Result<Ino> MemFs::create(Ino dir, std::string_view name, const NewNode& node) {
  if (node.type == FileType::symlink) return Errno::inval;
  CLOCHE_ASSIGN(const Inode* parent, impl_->get_own_directory(dir));
  CLOCHE_TRY(impl_->check_new_name(*parent, name));
  if (node.type == FileType::directory && parent->nlink >= links_max) return Errno::mlink;
  auto inode = Ref<Inode>::adopt(new Inode);
  Inode& fresh = inode.mut();
  fresh.type = node.type;
  fresh.mode = node.mode & mode::all;
  fresh.uid = node.uid;
  fresh.gid = node.gid;
  if (node.type == FileType::character || node.type == FileType::block) fresh.rdev = node.rdev;
  if (node.type == FileType::directory) {
    fresh.nlink = 2;
    fresh.dir = Ref<Directory>::adopt(new Directory);
  }
  const Ino ino = impl_->add_inode(dir, name, std::move(inode));
  tell({ChangeKind::created, dir, name, ino});
  return ino;
}

Result<Ino> MemFs::symlink(Ino dir, std::string_view name, std::string_view target,
                           const NewNode& node) {
  if (target.empty()) return Errno::noent;
  if (target.size() > target_max) return Errno::nametoolong;
  if (target.find('\0') != target.npos) return Errno::inval;
  CLOCHE_ASSIGN(const Inode* parent, impl_->get_own_directory(dir));
  CLOCHE_TRY(impl_->check_new_name(*parent, name));
  if (!impl_->building_base && target.size() > impl_->room_bytes()) return Errno::nospc;
  auto inode = Ref<Inode>::adopt(new Inode);
  Inode& fresh = inode.mut();
  fresh.type = FileType::symlink;
  fresh.mode = 0777;
  fresh.uid = node.uid;
  fresh.gid = node.gid;
  fresh.base = impl_->building_base;
  fresh.extra = Ref<Extra>::adopt(new Extra);
  fresh.extra.mut().target = target;
  const Ino ino = impl_->add_inode(dir, name, std::move(inode));
  tell({ChangeKind::created, dir, name, ino});
  return ino;
}

Result<void> MemFs::link(Ino ino, Ino dir, std::string_view name) {
  CLOCHE_ASSIGN(const Inode* parent, impl_->get_own_directory(dir));
  // A hard link from here into a grafted tree would be one between two file systems.
  if (!Impl::is_own(ino)) return Errno::xdev;
  CLOCHE_ASSIGN(const Inode* inode, impl_->get(ino));
  if (inode->type == FileType::directory) return Errno::perm;
  CLOCHE_TRY(impl_->check_new_name(*parent, name));
  if (inode->nlink >= links_max) return Errno::mlink;
  const bool charged = !impl_->building_base;
  // Once it is changed, what was found may be another thread's alone.
  const FileType type = inode->type;
  // A file without a name, but open (O_TMPFILE), gets one: then it is no orphan any more, and its
  // name is what is charged.
  if (inode->nlink == 0) {
    impl_->state.usage.inodes -= inode->orphan_charged ? 1 : 0;
    impl_->mut(ino).orphan_charged = false;
    impl_->state.orphans.erase(ino);
  }
  impl_->state.usage.inodes += charged ? 1 : 0;
  ++impl_->mut(ino).nlink;
  impl_->add_entry(dir, name, {.ino = ino, .type = type, .charged = charged});
  tell({ChangeKind::created, dir, name, ino});
  return {};
}

Result<void> MemFs::unlink(Ino dir, std::string_view name) {
  CLOCHE_TRY(check_name(name));
  CLOCHE_ASSIGN(const Inode* parent, impl_->get_own_directory(dir));
  const Entry* entry = parent->dir->find(name);
  if (!entry) return Errno::noent;
  if (entry->type == FileType::directory) return Errno::isdir;
  if (entry->graft) return Errno::busy;
  const Entry gone = impl_->remove_entry(dir, name);
  impl_->drop_link(gone.ino, gone.charged);
  tell({ChangeKind::removed, dir, name, gone.ino});
  return {};
}

Result<void> MemFs::rmdir(Ino dir, std::string_view name) {
  CLOCHE_TRY(check_name(name));
  CLOCHE_ASSIGN(const Inode* parent, impl_->get_own_directory(dir));
  const Entry* entry = parent->dir->find(name);
  if (!entry) return Errno::noent;
  if (entry->type != FileType::directory) return Errno::notdir;
  if (entry->graft) return Errno::busy;
  if (impl_->find(entry->ino)->dir->size() != 0) return Errno::notempty;
  const Entry gone = impl_->remove_entry(dir, name);
  impl_->drop_link(gone.ino, gone.charged);
  tell({ChangeKind::removed, dir, name, gone.ino});
  return {};
}

namespace {

// Whether `dir` is `ancestor` or lies below it. A loop: trees may be deep.
template <typename Find>
bool is_within(const Find& find, Ino dir, Ino ancestor) {
  while (dir != ancestor) {
    if (dir == root_ino) return false;
    dir = find(dir)->parent;
  }
  return true;
}

}  // namespace

Result<void> MemFs::rename(Ino old_dir, std::string_view old_name, Ino new_dir,
                           std::string_view new_name, RenameMode mode) {
  CLOCHE_TRY(check_name(old_name));
  CLOCHE_TRY(check_name(new_name));
  CLOCHE_ASSIGN(const Inode* from, impl_->get_own_directory(old_dir));
  CLOCHE_ASSIGN(const Inode* to, impl_->get_own_directory(new_dir));
  const Entry* old_entry = from->dir->find(old_name);
  if (!old_entry) return Errno::noent;
  const Entry* new_entry = to->dir->find(new_name);
  if (mode == RenameMode::no_replace && new_entry) return Errno::exist;
  if (mode == RenameMode::exchange && !new_entry) return Errno::noent;
  if (old_entry->graft || (new_entry && new_entry->graft)) return Errno::busy;

  const auto find = [this](Ino ino) { return impl_->find(ino); };
  const bool old_is_dir = old_entry->type == FileType::directory;
  const bool new_is_dir = new_entry && new_entry->type == FileType::directory;
  if (old_is_dir && is_within(find, new_dir, old_entry->ino)) return Errno::inval;
  // Two names of one file: nothing to do, as on Linux.
  if (new_entry && new_entry->ino == old_entry->ino) return {};

  if (mode == RenameMode::exchange) {
    if (new_is_dir && is_within(find, old_dir, new_entry->ino)) return Errno::inval;
    const Entry a = *old_entry, b = *new_entry;
    impl_->change_entry(old_dir, old_name, b);
    impl_->change_entry(new_dir, new_name, a);
    tell({ChangeKind::renamed, old_dir, old_name, a.ino});
    tell({ChangeKind::created, new_dir, new_name, a.ino});
    tell({ChangeKind::renamed, new_dir, new_name, b.ino});
    tell({ChangeKind::created, old_dir, old_name, b.ino});
    return {};
  }

  if (new_entry) {
    if (new_is_dir && !old_is_dir) return Errno::isdir;
    if (!new_is_dir && old_is_dir) return Errno::notdir;
    if (new_is_dir && find(new_entry->ino)->dir->size() != 0) return Errno::notempty;
  }
  if (old_is_dir && !new_is_dir && old_dir != new_dir && to->nlink >= links_max) {
    return Errno::mlink;
  }
  if (!to->dir->has_room(new_name.size())) return Errno::nospc;
  // `new_name` may be a part of what is removed: the caller's memory, never the directory's.
  if (new_entry) {
    const Entry gone = impl_->remove_entry(new_dir, new_name);
    impl_->drop_link(gone.ino, gone.charged);
    // Only who watches that very one hears of its end: for others the name goes on.
    tell({ChangeKind::removed, 0, new_name, gone.ino});
  }
  const Entry moved = impl_->remove_entry(old_dir, old_name);
  impl_->add_entry(new_dir, new_name,
                   {.ino = moved.ino, .type = moved.type, .charged = moved.charged});
  tell({ChangeKind::renamed, old_dir, old_name, moved.ino});
  tell({ChangeKind::created, new_dir, new_name, moved.ino});
  return {};
}

Result<Ino> MemFs::graft(Ino dir, std::string_view name, const Frozen& state, Ino source) {
  if (source == 0) source = root_ino;
  CLOCHE_TRY(check_name(name));
  if (state.state().grafts) return Errno::notsup;
  const Inode* shown = state.state().inodes.find(source);
  if (!shown || shown->nlink == 0) return Errno::noent;
  CLOCHE_ASSIGN(const Inode* parent, impl_->get_own_directory(dir));
  if (parent->dir->find(name)) return Errno::exist;
  if (!parent->dir->has_room(name.size())) return Errno::nospc;
  auto grafts = impl_->state.grafts ? std::make_shared<Grafts>(*impl_->state.grafts)
                                    : std::make_shared<Grafts>();
  if (grafts->size() >= grafts_max) return Errno::nospc;
  const Ino ino = (Ino{grafts->size() + 1} << graft_shift) | source;
  impl_->add_entry(dir, name, {.ino = ino, .type = shown->type, .graft = true});
  const std::uint64_t cookie = impl_->find(dir)->dir->find(name)->cookie;
  grafts->push_back({state, source, dir, cookie});
  impl_->state.grafts = std::move(grafts);
  return ino;
}

Result<void> MemFs::ungraft(Ino dir, std::string_view name) {
  CLOCHE_ASSIGN(const Inode* parent, impl_->get_own_directory(dir));
  const Entry* entry = parent->dir->find(name);
  if (!entry || !entry->graft) return Errno::noent;
  auto grafts = std::make_shared<Grafts>(*impl_->state.grafts);
  (*grafts)[(entry->ino >> graft_shift) - 1].dir = 0;
  impl_->state.grafts = std::move(grafts);
  impl_->remove_entry(dir, name);
  return {};
}

}  // namespace cloche::vfs
