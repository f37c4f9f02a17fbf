// SPDX-License-Identifier: Apache-2.0
#include "vfs/path_walk.h"

#include "vfs/checked_operations.h"

namespace cloche::vfs {

const Mount* find_mount_on(const std::vector<Mount>& mounts, const InodeAt& place) {
  for (const Mount& mount : mounts) {
    const Node& point = mount.mount_point;
    if (point && point.ino() == place.ino && &point.fs() == place.fs) return &mount;
  }
  return nullptr;
}

const Mount* find_mount_of(const std::vector<Mount>& mounts, const FileSystem* fs) {
  for (const Mount& mount : mounts) {
    if (mount.fs.get() == fs) return &mount;
  }
  return nullptr;
}

PathWalk::PathWalk(const std::vector<Mount>& mounts, const Node& start, const Credentials& cred,
                   std::uint32_t restrictions)
    : mounts_(mounts),
      cred_(cred),
      restrictions_(restrictions),
      start_{&start.fs(), start.ino()},
      root_((restrictions & Resolve::in_root) != 0
                ? start_
                : InodeAt{mounts.front().fs.get(), mounts.front().fs->root()}) {}

// Where the text in path_ starts, and without its leading slashes.
Result<void> PathWalk::begin(std::string_view path) {
  path_ = path;
  if (path_.starts_with('/')) {
    if (restricted(Resolve::beneath)) return Errno::xdev;
    if (restricted(Resolve::no_xdev) && at_.fs != root_.fs) return Errno::xdev;
    at_ = root_;
    CLOCHE_ASSIGN(stat_, at_.fs->stat(at_.ino));
    path_.remove_prefix(std::min(path_.find_first_not_of('/'), path_.size()));
  }
  return {};
}

Result<void> PathWalk::step_up() {
  if (at_ == start_ && restricted(Resolve::beneath)) return Errno::xdev;
  if (at_ == root_) return {};
  while (at_.ino == at_.fs->root()) {
    const Mount* mount = find_mount_of(mounts_, at_.fs);
    if (!mount || !mount->mount_point) return {};
    if (restricted(Resolve::no_xdev)) return Errno::xdev;
    at_ = {&mount->mount_point.fs(), mount->mount_point.ino()};
  }
  CLOCHE_ASSIGN(const Ino parent, at_.fs->parent(at_.ino));
  return enter({at_.fs, parent});
}

// Makes `place`, or what is mounted on it, the current one.
Result<void> PathWalk::enter(InodeAt place) {
  CLOCHE_ASSIGN(stat_, place.fs->stat(place.ino));
  if (stat_.type != FileType::symlink) {
    while (const Mount* mount = find_mount_on(mounts_, place)) {
      if (restricted(Resolve::no_xdev)) return Errno::xdev;
      place = {mount->fs.get(), mount->fs->root()};
      CLOCHE_ASSIGN(stat_, place.fs->stat(place.ino));
    }
  }
  at_ = place;
  return {};
}

Result<void> PathWalk::follow_link(const InodeAt& link, std::string_view rest) {
  if (restricted(Resolve::no_symlinks) || ++links_ > symlinks_max) return Errno::loop;
  const auto magic = link.fs->magic_target(link.ino);
  if (magic) {
    if (restricted(Resolve::no_magiclinks)) return Errno::loop;
    if (restricted(Resolve::beneath | Resolve::in_root)) return Errno::xdev;
    if (restricted(Resolve::no_xdev) && &magic->fs() != at_.fs) return Errno::xdev;
    held_ = *magic;
    path_ = rest;
    return enter({&held_.fs(), held_.ino()});
  }
  if (magic.error() != Errno::inval) return magic.error();
  CLOCHE_ASSIGN(std::string text, link.fs->readlink(link.ino));
  if (text.empty()) return Errno::noent;
  text.append(rest);
  text_ = std::move(text);
  return begin(text_);
}

Result<std::optional<Resolved>> PathWalk::pass_link(const InodeAt& parent, std::string_view name,
                                                    std::string_view rest) {
  const InodeAt link = at_;
  at_ = parent;
  const std::string kept(name);  // it may be a part of the text that the link's takes the place of
  CLOCHE_TRY(follow_link(link, rest));
  if (const std::size_t next = path_.find_first_not_of('/'); next != path_.npos) {
    // `begin` may have moved to the root; the rest of the text starts a component.
    path_.remove_prefix(next);
    if (at_ == parent) {
      CLOCHE_ASSIGN(stat_, at_.fs->stat(at_.ino));
    }
    return std::nullopt;
  }
  // A magic link, or a link to "/", at the end of the path.
  const bool wants_directory = !path_.empty();
  if (wants_directory && stat_.type != FileType::directory) return Errno::notdir;
  CLOCHE_ASSIGN(Resolved jumped, finish(parent, kept, LastKind::name));
  jumped.trailing_slash = wants_directory;
  return jumped;
}

Result<Resolved> PathWalk::finish(const InodeAt& parent, std::string_view name, LastKind last) {
  Resolved found;
  found.parent = Node(*parent.fs, parent.ino);
  found.name = name;
  found.last = last;
  found.target = Node(*at_.fs, at_.ino);
  return found;
}

Result<Resolved> PathWalk::run(std::string_view path, Follow follow) {
  if (path.empty()) return Errno::noent;
  if (path.size() >= path_max) return Errno::nametoolong;
  if (path.find('\0') != path.npos) return Errno::inval;
  if (restricted(Resolve::beneath) && restricted(Resolve::in_root)) return Errno::inval;
  at_ = start_;
  CLOCHE_ASSIGN(stat_, at_.fs->stat(at_.ino));
  CLOCHE_TRY(begin(path));
  if (path_.empty()) return finish(at_, {}, LastKind::root);

  for (;;) {
    // One component, taken in the directory at_.
    if (stat_.type != FileType::directory) return Errno::notdir;
    CLOCHE_TRY(check_access(stat_, cred_, Access::execute));
    const std::size_t end = std::min(path_.find('/'), path_.size());
    const std::string_view name = path_.substr(0, end);
    if (name.size() > name_max) return Errno::nametoolong;
    std::string_view rest = path_.substr(end);
    const std::size_t next = std::min(rest.find_first_not_of('/'), rest.size());
    const bool last = next == rest.size();
    const bool slash = !rest.empty();

    const InodeAt parent = at_;
    LastKind kind = LastKind::name;
    if (name == ".") {
      kind = LastKind::dot;
    } else if (name == "..") {
      kind = LastKind::dot_dot;
      CLOCHE_TRY(step_up());
    } else {
      const auto found = at_.fs->lookup(at_.ino, name);
      if (!found) {
        if (found.error() != Errno::noent || !last) return found.error();
        Resolved missing;
        missing.parent = Node(*parent.fs, parent.ino);
        missing.name = name;
        missing.trailing_slash = slash;
        return missing;
      }
      CLOCHE_TRY(enter({at_.fs, *found}));
      if (stat_.type == FileType::symlink && (!last || slash || follow == Follow::yes)) {
        CLOCHE_ASSIGN(std::optional<Resolved> jumped, pass_link(parent, name, rest));
        if (jumped) return *std::move(jumped);
        continue;
      }
    }
    if (last) {
      if (slash && stat_.type != FileType::directory) return Errno::notdir;
      CLOCHE_ASSIGN(Resolved found,
                    finish(parent, kind == LastKind::name ? name : std::string_view{}, kind));
      found.trailing_slash = slash;
      return found;
    }
    path_ = rest.substr(next);
  }
}

}  // namespace cloche::vfs
