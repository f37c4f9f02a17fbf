// SPDX-License-Identifier: Apache-2.0
#include "vfs/checked_operations.h"

#include <algorithm>

namespace cloche::vfs {
namespace {

constexpr std::uint32_t set_id = mode::set_uid | mode::set_gid;

// Whether anything of the node's file system may change.
Result<void> check_writable(const Node& node) {
  if (node.fs().read_only()) return Errno::rofs;
  return {};
}

Result<Stat> directory_stat(const Node& dir) {
  CLOCHE_ASSIGN(const Stat st, dir.stat());
  if (st.type != FileType::directory) return Errno::notdir;
  return st;
}

// The directory of a new name, which must be free. EEXIST comes before EROFS and EACCES, as on
// Linux.
Result<Stat> check_add(const Node& dir, std::string_view name, const Credentials& cred) {
  CLOCHE_ASSIGN(const Stat st, directory_stat(dir));
  CLOCHE_TRY(check_access(st, cred, Access::execute));
  const auto there = dir.fs().lookup(dir.ino(), name);
  if (there) return Errno::exist;
  if (there.error() != Errno::noent) return there.error();
  CLOCHE_TRY(check_writable(dir));
  CLOCHE_TRY(check_access(st, cred, Access::write));
  return st;
}

// Whether `name`, which must be there, may be taken out of `dir`; its inode.
Result<Ino> check_remove(const Node& dir, std::string_view name, const Credentials& cred) {
  CLOCHE_ASSIGN(const Stat st, directory_stat(dir));
  CLOCHE_TRY(check_access(st, cred, Access::execute));
  CLOCHE_ASSIGN(const Ino victim, dir.fs().lookup(dir.ino(), name));
  CLOCHE_TRY(check_writable(dir));
  CLOCHE_TRY(check_access(st, cred, Access::write));
  if ((st.mode & mode::sticky) != 0 && !cred.is_root() && cred.uid != st.uid) {
    CLOCHE_ASSIGN(const Stat victim_st, dir.fs().stat(victim));
    if (cred.uid != victim_st.uid) return Errno::perm;
  }
  return victim;
}

Result<void> check_owner(const Stat& st, const Credentials& cred) {
  if (!cred.is_root() && cred.uid != st.uid) return Errno::perm;
  return {};
}

}  // namespace

Result<void> check_access(const Stat& st, const Credentials& cred, Access wanted) {
  const auto bits = static_cast<std::uint32_t>(wanted);
  if (cred.is_root()) {
    const bool may_execute = st.type == FileType::directory || (st.mode & 0111) != 0;
    if (has(wanted, Access::execute) && !may_execute) return Errno::acces;
    return {};
  }
  std::uint32_t granted = st.mode;
  if (cred.uid == st.uid) {
    granted = st.mode >> 6;
  } else if (cred.in_group(st.gid)) {
    granted = st.mode >> 3;
  }
  if ((bits & ~granted & 07) != 0) return Errno::acces;
  return {};
}

Result<void> check_access(const Node& node, const Credentials& cred, Access wanted) {
  CLOCHE_ASSIGN(const Stat st, node.stat());
  const bool stored = st.type == FileType::regular || st.type == FileType::directory ||
                      st.type == FileType::symlink;
  if (has(wanted, Access::write) && stored) CLOCHE_TRY(check_writable(node));
  return check_access(st, cred, wanted);
}

Result<Node> create(const Node& dir, std::string_view name, FileType type, std::uint32_t mode,
                    const Credentials& cred, std::uint64_t rdev) {
  CLOCHE_ASSIGN(const Stat st, check_add(dir, name, cred));
  const bool device = type == FileType::character || type == FileType::block;
  if (device && !cred.is_root()) return Errno::perm;
  NewNode node{
      .type = type, .mode = mode & mode::all, .uid = cred.uid, .gid = cred.gid, .rdev = rdev};
  if ((st.mode & mode::set_gid) != 0) {
    node.gid = st.gid;
    if (type == FileType::directory) {
      node.mode |= mode::set_gid;
    } else if ((node.mode & 0010) != 0 && !cred.is_root() && !cred.in_group(st.gid)) {
      node.mode &= ~mode::set_gid;
    }
  }
  CLOCHE_ASSIGN(const Ino ino, dir.fs().create(dir.ino(), name, node));
  return Node(dir.fs(), ino);
}

Result<Node> symlink(const Node& dir, std::string_view name, std::string_view target,
                     const Credentials& cred) {
  CLOCHE_ASSIGN(const Stat st, check_add(dir, name, cred));
  NewNode node{.mode = 0777, .uid = cred.uid, .gid = cred.gid};
  if ((st.mode & mode::set_gid) != 0) node.gid = st.gid;
  CLOCHE_ASSIGN(const Ino ino, dir.fs().symlink(dir.ino(), name, target, node));
  return Node(dir.fs(), ino);
}

Result<void> link(const Node& node, const Node& dir, std::string_view name,
                  const Credentials& cred) {
  CLOCHE_TRY(check_add(dir, name, cred));
  if (&node.fs() != &dir.fs()) return Errno::xdev;
  CLOCHE_ASSIGN(const Stat st, node.stat());
  if (st.type == FileType::directory) return Errno::perm;
  if (!check_owner(st, cred)) {
    // As with Linux's protected_hardlinks.
    const bool safe = st.type == FileType::regular && (st.mode & mode::set_uid) == 0 &&
                      (st.mode & (mode::set_gid | 0010)) != (mode::set_gid | 0010) &&
                      check_access(st, cred, Access::read_write).ok();
    if (!safe) return Errno::perm;
  }
  return dir.fs().link(node.ino(), dir.ino(), name);
}

Result<void> unlink(const Node& dir, std::string_view name, const Credentials& cred) {
  CLOCHE_TRY(check_remove(dir, name, cred));
  return dir.fs().unlink(dir.ino(), name);
}

Result<void> rmdir(const Node& dir, std::string_view name, const Credentials& cred) {
  CLOCHE_TRY(check_remove(dir, name, cred));
  return dir.fs().rmdir(dir.ino(), name);
}

Result<void> rename(const Node& old_dir, std::string_view old_name, const Node& new_dir,
                    std::string_view new_name, RenameMode mode, const Credentials& cred) {
  if (&old_dir.fs() != &new_dir.fs()) return Errno::xdev;
  FileSystem& fs = old_dir.fs();
  CLOCHE_ASSIGN(const Ino moved, check_remove(old_dir, old_name, cred));
  const auto there = fs.lookup(new_dir.ino(), new_name);
  if (!there && there.error() != Errno::noent) return there.error();
  if (there && mode == RenameMode::no_replace) return Errno::exist;
  if (!there && mode == RenameMode::exchange) return Errno::noent;
  if (there) {
    CLOCHE_TRY(check_remove(new_dir, new_name, cred));
  } else {
    CLOCHE_TRY(check_add(new_dir, new_name, cred));
  }
  // A directory that changes its parent is written to: its ".." changes.
  if (old_dir.ino() != new_dir.ino()) {
    const auto check_moved = [&](Ino ino) -> Result<void> {
      CLOCHE_ASSIGN(const Stat st, fs.stat(ino));
      if (st.type == FileType::directory) return check_access(st, cred, Access::write);
      return {};
    };
    CLOCHE_TRY(check_moved(moved));
    if (mode == RenameMode::exchange) CLOCHE_TRY(check_moved(*there));
  }
  return fs.rename(old_dir.ino(), old_name, new_dir.ino(), new_name, mode);
}

Result<std::unique_ptr<NodeIo>> open(const Node& node, Access access, const Credentials& cred) {
  CLOCHE_ASSIGN(const Stat st, node.stat());
  const bool directory = st.type == FileType::directory;
  if (directory && has(access, Access::write)) return Errno::isdir;
  if (directory && has(access, Access::execute)) return Errno::acces;
  CLOCHE_TRY(check_access(st, cred, access));
  if (has(access, Access::write) && st.type == FileType::regular) CLOCHE_TRY(check_writable(node));
  return node.fs().open(node.ino(), access);
}

Result<std::string> read_range(NodeIo& io, std::uint64_t offset, std::size_t size_bytes) {
  constexpr std::size_t made_up_step_bytes = 64 << 10;
  CLOCHE_ASSIGN(const Stat st, io.stat());
  const std::uint64_t left = st.size - std::min(st.size, offset);
  const bool may_be_made_up = st.size == 0;
  const std::size_t most =
      may_be_made_up ? size_bytes
                     : static_cast<std::size_t>(std::min<std::uint64_t>(left, size_bytes));
  const std::size_t step = may_be_made_up ? made_up_step_bytes : most;
  std::string content;
  std::size_t got = 0;
  for (;;) {
    if (got == content.size()) {
      if (got == most) break;
      content.resize(got + std::min(most - got, step));
    }
    CLOCHE_ASSIGN(const std::size_t count,
                  io.read(offset + got, std::as_writable_bytes(std::span(content)).subspan(got)));
    if (count == 0) break;
    got += count;
  }
  content.resize(got);
  return content;
}

Result<void> chmod(const Node& node, std::uint32_t mode, const Credentials& cred) {
  CLOCHE_ASSIGN(const Stat st, node.stat());
  CLOCHE_TRY(check_writable(node));
  CLOCHE_TRY(check_owner(st, cred));
  if (st.type == FileType::symlink) return Errno::notsup;
  mode &= mode::all;
  if (!cred.is_root() && !cred.in_group(st.gid) && st.type != FileType::directory) {
    mode &= ~mode::set_gid;
  }
  return node.fs().set_attr(node.ino(), {.mode = mode});
}

Result<void> chown(const Node& node, std::optional<std::uint32_t> uid,
                   std::optional<std::uint32_t> gid, const Credentials& cred) {
  CLOCHE_ASSIGN(const Stat st, node.stat());
  CLOCHE_TRY(check_writable(node));
  if (!cred.is_root()) {
    if ((uid || gid) && cred.uid != st.uid) return Errno::perm;
    if (uid && *uid != st.uid) return Errno::perm;
    if (gid && *gid != st.gid && !cred.in_group(*gid)) return Errno::perm;
  }
  SetAttr attr{.uid = uid, .gid = gid};
  if (st.type != FileType::directory && (st.mode & set_id) != 0) {
    std::uint32_t mode = st.mode & ~mode::set_uid;
    if ((st.mode & 0010) != 0) mode &= ~mode::set_gid;
    attr.mode = mode;
  }
  return node.fs().set_attr(node.ino(), attr);
}

Result<void> truncate(const Node& node, std::uint64_t size, const Credentials& cred) {
  CLOCHE_ASSIGN(const Stat st, node.stat());
  if (st.type == FileType::directory) return Errno::isdir;
  if (st.type != FileType::regular) return Errno::inval;
  CLOCHE_TRY(check_writable(node));
  CLOCHE_TRY(check_access(st, cred, Access::write));
  SetAttr attr{.size = size};
  if ((st.mode & set_id) != 0 && (st.mode & 0111) != 0) attr.mode = st.mode & ~set_id;
  return node.fs().set_attr(node.ino(), attr);
}

Result<void> set_times(const Node& node, const TimeChange& atime, const TimeChange& mtime,
                       Timestamp now, const Credentials& cred) {
  using Kind = TimeChange::Kind;
  if (atime.kind == Kind::omit && mtime.kind == Kind::omit) return {};
  const auto check = [](const TimeChange& change) {
    return change.kind != Kind::at || change.at.ns < 1'000'000'000;
  };
  if (!check(atime) || !check(mtime)) return Errno::inval;
  CLOCHE_ASSIGN(const Stat st, node.stat());
  CLOCHE_TRY(check_writable(node));
  if (!check_owner(st, cred)) {
    if (atime.kind != Kind::now || mtime.kind != Kind::now) return Errno::perm;
    CLOCHE_TRY(check_access(st, cred, Access::write));
  }
  const auto value = [&](const TimeChange& change) -> std::optional<Timestamp> {
    if (change.kind == Kind::omit) return std::nullopt;
    return change.kind == Kind::now ? now : change.at;
  };
  return node.fs().set_attr(node.ino(), {.atime = value(atime), .mtime = value(mtime)});
}

Result<std::string> get_xattr(const Node& node, std::string_view name, const Credentials& cred) {
  CLOCHE_ASSIGN(const Stat st, node.stat());
  CLOCHE_TRY(check_access(st, cred, Access::read));
  return node.fs().get_xattr(node.ino(), name);
}

Result<void> set_xattr(const Node& node, std::string_view name, std::string_view value,
                       FileSystem::XattrMode mode, const Credentials& cred) {
  CLOCHE_TRY(check_access(node, cred, Access::write));
  return node.fs().set_xattr(node.ino(), name, value, mode);
}

Result<void> remove_xattr(const Node& node, std::string_view name, const Credentials& cred) {
  CLOCHE_TRY(check_access(node, cred, Access::write));
  return node.fs().remove_xattr(node.ino(), name);
}

}  // namespace cloche::vfs
