// SPDX-License-Identifier: Apache-2.0
#include "vfs/memfs.h"

#include <algorithm>

#include "vfs/memfs_impl.h"

namespace cloche::vfs {

using namespace memfs;

namespace {

State empty_state(Clock& clock) {
  State state;
  Inode* root = new Inode;
  root->type = FileType::directory;
  root->base = true;
  root->mode = 0755;
  root->nlink = 2;
  root->parent = root_ino;
  root->atime = root->mtime = root->ctime = root->btime = clock.now();
  root->dir = Ref<Directory>::adopt(new Directory);
  state.inodes.put(root_ino, Ref<Inode>::adopt(root));
  state.next_ino = root_ino + 1;
  return state;
}

}  // namespace

MemFs::MemFs(Quota quota, Clock& clock)
    : impl_(std::make_unique<Impl>(empty_state(clock), quota, clock)) {}

MemFs::MemFs(const Frozen& state, Quota quota, Clock& clock)
    : impl_(std::make_unique<Impl>(state.state(), quota, clock)) {}

MemFs::~MemFs() = default;

Frozen MemFs::freeze() const { return Frozen(std::make_shared<const State>(impl_->state)); }

TypedFsRef<MemFs> MemFs::fork(Quota quota) const {
  auto fork = make_fs<MemFs>(freeze(), quota, impl_->clock);
  fork->set_device(device());
  return fork;
}

FsRef MemFs::fork_for(std::optional<std::uint64_t> quota_bytes) {
  return fork({quota_bytes.value_or(impl_->quota.bytes), impl_->quota.inodes});
}

void MemFs::drop_orphans() {
  const std::set<Ino> orphans = impl_->state.orphans;
  for (const Ino ino : orphans) {
    if (!impl_->handles.has(ino)) impl_->free_inode(ino);
  }
}

const Quota& MemFs::quota() const { return impl_->quota; }
void MemFs::set_quota(Quota quota) { impl_->quota = quota; }
Usage MemFs::usage() const { return impl_->state.usage; }
Clock& MemFs::clock() const { return impl_->clock; }
Ino MemFs::root() const { return root_ino; }

void MemFs::acquire(Ino ino) {
  // Grafted trees never lose an inode.
  if (Impl::is_own(ino)) impl_->handles.add(ino);
}

void MemFs::release(Ino ino) noexcept {
  if (!Impl::is_own(ino) || !impl_->handles.remove(ino)) return;
  if (!impl_->state.orphans.empty() && impl_->state.orphans.contains(ino)) impl_->free_inode(ino);
}

const Graft* MemFs::Impl::graft_of(Ino ino) const {
  const std::uint64_t id = ino >> graft_shift;
  return state.grafts && id <= state.grafts->size() ? &(*state.grafts)[id - 1] : nullptr;
}

const Inode* MemFs::Impl::find(Ino ino) const {
  if (is_own(ino)) return state.inodes.find(ino);
  const Graft* graft = graft_of(ino);
  return graft ? graft->tree.state().inodes.find(ino & own_ino_max) : nullptr;
}

Result<const Inode*> MemFs::Impl::get(Ino ino) const {
  const Inode* inode = find(ino);
  if (!inode) return Errno::stale;
  return inode;
}

Result<const Inode*> MemFs::Impl::get_own(Ino ino) const {
  if (!is_own(ino)) return Errno::rofs;
  return get(ino);
}

Result<const Inode*> MemFs::Impl::get_directory(Ino ino) const {
  CLOCHE_ASSIGN(const Inode* inode, get(ino));
  if (inode->type != FileType::directory) return Errno::notdir;
  return inode;
}

Result<const Inode*> MemFs::Impl::get_own_directory(Ino ino) const {
  CLOCHE_ASSIGN(const Inode* inode, get_directory(ino));
  if (!is_own(ino)) return Errno::rofs;
  if (inode->nlink == 0) return Errno::noent;
  return inode;
}

std::uint64_t MemFs::Impl::extra_charge(const Inode& inode) {
  if (!inode.extra) return 0;
  std::uint64_t bytes = inode.base ? 0 : inode.extra->target.size();
  for (const auto& [name, value] : inode.extra->xattrs) {
    bytes += name.size() + value.size() + xattr_overhead;
  }
  return bytes;
}

void MemFs::Impl::free_inode(Ino ino) {
  const Inode& inode = *find(ino);
  state.usage.bytes -= inode.content.charge() + extra_charge(inode);
  if (inode.orphan_charged) --state.usage.inodes;
  state.orphans.erase(ino);
  state.inodes.erase(ino);
}

Result<Ino> MemFs::lookup(Ino dir, std::string_view name) {
  if (name.size() > name_max) return Errno::nametoolong;
  CLOCHE_ASSIGN(const Inode* inode, impl_->get_directory(dir));
  const Entry* entry = inode->dir->find(name);
  if (!entry) return Errno::noent;
  return entry->ino | Impl::graft_bits(dir);
}

Result<Ino> MemFs::parent(Ino dir) {
  CLOCHE_ASSIGN(const Inode* inode, impl_->get_directory(dir));
  if (Impl::is_own(dir)) {
    if (!impl_->find(inode->parent)) return Errno::noent;
    return inode->parent;
  }
  const Graft& graft = *impl_->graft_of(dir);
  if ((dir & own_ino_max) != graft.source) return inode->parent | Impl::graft_bits(dir);
  if (graft.dir == 0) return Errno::noent;
  return graft.dir;
}

Result<FileSystem::Location> MemFs::locate(Ino ino) {
  if (ino == root_ino) return Errno::inval;
  CLOCHE_ASSIGN(const Inode* inode, impl_->get(ino));
  Ino parent = inode->parent | Impl::graft_bits(ino), expected = ino & own_ino_max;
  std::uint64_t cookie = inode->parent_cookie;
  if (!Impl::is_own(ino)) {
    const Graft& graft = *impl_->graft_of(ino);
    if (expected == graft.source) {
      parent = graft.dir;
      cookie = graft.cookie;
      expected = ino;
    }
  }
  const Inode* dir = impl_->find(parent);
  const Entry* entry = dir && dir->dir ? dir->dir->at_cookie(cookie) : nullptr;
  if (!entry || entry->ino != expected) return Errno::noent;
  return Location{parent, std::string(dir->dir->name(*entry))};
}

Result<Stat> MemFs::stat(Ino ino) {
  CLOCHE_ASSIGN(const Inode* inode, impl_->get(ino));
  Stat st;
  st.dev = device();
  st.ino = ino;
  st.type = inode->type;
  st.mode = inode->mode;
  st.nlink = inode->nlink;
  st.uid = inode->uid;
  st.gid = inode->gid;
  st.rdev = inode->rdev;
  st.atime = inode->atime;
  st.mtime = inode->mtime;
  st.ctime = inode->ctime;
  st.btime = inode->btime;
  switch (inode->type) {
    case FileType::regular:
      st.size = inode->content.size();
      st.blocks = (inode->content.held() + 511) / 512;
      break;
    case FileType::directory: st.size = page_size; break;
    case FileType::symlink: st.size = inode->extra->target.size(); break;
    default: break;
  }
  return st;
}

Result<void> MemFs::set_attr(Ino ino, const SetAttr& attr) {
  CLOCHE_ASSIGN(const Inode* old, impl_->get_own(ino));
  const Timestamp now = impl_->clock.now();
  if (attr.size) {
    if (old->type == FileType::directory) return Errno::isdir;
    if (old->type != FileType::regular) return Errno::inval;
    Inode& inode = impl_->mut(ino);
    const std::uint64_t before = inode.content.charge();
    CLOCHE_TRY(inode.content.truncate(*attr.size, impl_->room_bytes()));
    impl_->state.usage.bytes += inode.content.charge() - before;
    inode.program = 0;
    inode.mtime = now;
  }
  Inode& inode = impl_->mut(ino);
  if (attr.mode) inode.mode = *attr.mode & mode::all;
  if (attr.uid) inode.uid = *attr.uid;
  if (attr.gid) inode.gid = *attr.gid;
  if (attr.atime) inode.atime = *attr.atime;
  if (attr.mtime) inode.mtime = *attr.mtime;
  inode.ctime = now;
  if (attr.size) tell(ChangeKind::written, ino);
  if (attr.mode || attr.uid || attr.gid || attr.atime || attr.mtime)
    tell(ChangeKind::attributes, ino);
  return {};
}

std::uint64_t MemFs::program(Ino ino) {
  const Inode* inode = impl_->find(ino);
  return inode ? inode->program : 0;
}

std::optional<SharedBytes> MemFs::shared_content(Ino ino) {
  const Inode* inode = impl_->find(ino);
  if (!inode || inode->type != FileType::regular) return std::nullopt;
  const SharedBytes* shared = inode->content.unmodified();
  return shared ? std::optional(*shared) : std::nullopt;
}

Result<std::string> MemFs::readlink(Ino ino) {
  CLOCHE_ASSIGN(const Inode* inode, impl_->get(ino));
  if (inode->type != FileType::symlink) return Errno::inval;
  return inode->extra->target;
}

StatFs MemFs::statfs() {
  // What is not limited shows as a petabyte.
  constexpr std::uint64_t bytes_shown_max = std::uint64_t{1} << 50;
  constexpr std::uint64_t inodes_shown_max = std::uint64_t{1} << 40;
  StatFs fs;
  fs.magic = 0x01021994;  // TMPFS_MAGIC
  fs.blocks = std::min(impl_->quota.bytes, bytes_shown_max) / fs.block_size;
  fs.blocks_free = std::min(impl_->room_bytes() / fs.block_size, fs.blocks);
  fs.inodes = std::min(impl_->quota.inodes, inodes_shown_max);
  const std::uint64_t used = impl_->state.usage.inodes;
  fs.inodes_free = fs.inodes > used ? fs.inodes - used : 0;
  return fs;
}

}  // namespace cloche::vfs
