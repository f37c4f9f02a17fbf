// SPDX-License-Identifier: Apache-2.0
#include "vfs/namespace.h"

#include <algorithm>

#include "base/check.h"
#include "vfs/checked_operations.h"
#include "vfs/path_walk.h"

namespace cloche::vfs {

struct Namespace::Impl {
  std::vector<Mount> mounts;  // the root's first
  std::uint64_t next_device = 1;

  void add(Mount mount) {
    mount.read_only = mount.fs->read_only();
    if (mount.fs->device() == 0) mount.fs->set_device(next_device);
    next_device = std::max(next_device, mount.fs->device() + 1);
    mounts.push_back(std::move(mount));
  }
};

Namespace::Namespace(FsRef root_fs, std::string source) : impl_(std::make_unique<Impl>()) {
  impl_->add({.source = std::move(source), .path = "/", .fs = std::move(root_fs)});
}

Namespace::~Namespace() = default;

Node Namespace::root() const {
  FileSystem& fs = *impl_->mounts.front().fs;
  return Node(fs, fs.root());
}

const std::vector<Mount>& Namespace::mounts() const { return impl_->mounts; }

void Namespace::set_owner(const std::shared_ptr<Owner>& owner) {
  for (const Mount& mount : impl_->mounts) mount.fs->set_owner(owner);
}

const Mount* Namespace::mounted_on(const Node& node) const {
  return find_mount_on(impl_->mounts, {&node.fs(), node.ino()});
}

Result<Resolved> Namespace::resolve(const Node& start, std::string_view path, Follow follow,
                                    const Credentials& cred, std::uint32_t restrictions) const {
  return PathWalk(impl_->mounts, start, cred, restrictions).run(path, follow);
}

Result<Node> Namespace::lookup(const Node& start, std::string_view path, Follow follow,
                               const Credentials& cred, std::uint32_t restrictions) const {
  CLOCHE_ASSIGN(Resolved found, resolve(start, path, follow, cred, restrictions));
  if (!found.target) return Errno::noent;
  return *std::move(found.target);
}

Result<std::string> Namespace::path_of(const Node& node) const {
  constexpr std::size_t shown_max = 1 << 20;
  std::vector<std::string> names;
  std::size_t size = 0;
  InodeAt at{&node.fs(), node.ino()};
  for (;;) {
    while (at.ino == at.fs->root()) {
      const Mount* mount = find_mount_of(impl_->mounts, at.fs);
      if (!mount) return Errno::noent;
      if (!mount->mount_point) {
        std::string path;
        path.reserve(size + 1);
        for (auto it = names.rbegin(); it != names.rend(); ++it) path.append("/").append(*it);
        return path.empty() ? "/" : path;
      }
      at = {&mount->mount_point.fs(), mount->mount_point.ino()};
    }
    CLOCHE_ASSIGN(FileSystem::Location location, at.fs->locate(at.ino));
    size += location.name.size() + 1;
    if (size > shown_max) return Errno::nametoolong;
    names.push_back(std::move(location.name));
    at.ino = location.parent;
  }
}

Result<void> Namespace::mount(const Node& mount_point, FsRef fs, std::string source) {
  CLOCHE_ASSIGN(const Stat st, mount_point.stat());
  CLOCHE_ASSIGN(const Stat shown, fs->stat(fs->root()));
  const bool is_folder = shown.type == FileType::directory;
  if (is_folder != (st.type == FileType::directory))
    return is_folder ? Errno::notdir : Errno::isdir;
  if (find_mount_of(impl_->mounts, fs.get()) || mounted_on(mount_point)) return Errno::busy;
  CLOCHE_ASSIGN(std::string path, path_of(mount_point));
  if (path == "/") return Errno::busy;
  impl_->add({.source = std::move(source),
              .path = std::move(path),
              .fs = std::move(fs),
              .mount_point = mount_point});
  return {};
}

Result<void> Namespace::mount_at(std::string_view path, FsRef fs, std::string source) {
  const Credentials& cred = root_credentials();
  CLOCHE_ASSIGN(const Stat shown, fs->stat(fs->root()));
  const bool is_folder = shown.type == FileType::directory;
  if (!is_folder && path.ends_with('/')) return Errno::notdir;
  Node at = root();
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    CLOCHE_ASSIGN(Resolved found, resolve(at, name, Follow::yes, cred));
    const bool is_file = !is_folder && end == path.size();
    if (found.target && is_file && &found.target->fs() == &root().fs()) {
      // Under further names of its own a file would be covered as well.
      CLOCHE_ASSIGN(const Stat st, found.target->stat());
      if (st.type == FileType::regular && st.nlink > 1) {
        CLOCHE_TRY(unlink(found.parent, found.name, cred));
        found.target.reset();
      }
    }
    if (found.target) {
      at = *std::move(found.target);
    } else {
      const FileType type = is_file ? FileType::regular : FileType::directory;
      CLOCHE_ASSIGN(at, create(found.parent, found.name, type, is_file ? 0644 : 0755, cred));
    }
  }
  return mount(at, std::move(fs), std::move(source));
}

std::unique_ptr<Namespace> Namespace::fork(std::optional<std::uint64_t> quota_bytes) const {
  const std::vector<Mount>& mounts = impl_->mounts;
  FsRef root_fs = mounts.front().fs->fork_for(quota_bytes);
  CLOCHE_CHECK(root_fs);
  root_fs->set_device(mounts.front().fs->device());
  auto fork = std::make_unique<Namespace>(std::move(root_fs), mounts.front().source);
  for (std::size_t i = 1; i < mounts.size(); ++i) {
    const Mount& mount = mounts[i];
    Node mount_point = fork->counterpart(mount.mount_point, *this);
    if (!mount_point) continue;
    FsRef fs = mount.fs->fork_for(std::nullopt);
    if (!fs) continue;
    fs->set_device(mount.fs->device());
    fork->impl_->add({.source = mount.source,
                      .path = mount.path,
                      .fs = std::move(fs),
                      .mount_point = std::move(mount_point)});
  }
  return fork;
}

void Namespace::drop_orphans() {
  for (const Mount& mount : impl_->mounts) mount.fs->drop_orphans();
}

Node Namespace::counterpart(const Node& in_parent, const Namespace& parent) const {
  const Mount* theirs = find_mount_of(parent.impl_->mounts, &in_parent.fs());
  if (!theirs) return {};
  const auto ours = std::ranges::find(impl_->mounts, theirs->path, &Mount::path);
  if (ours == impl_->mounts.end() || !ours->fs->stat(in_parent.ino())) return {};
  return Node(*ours->fs, in_parent.ino());
}

}  // namespace cloche::vfs
