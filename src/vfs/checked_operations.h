// SPDX-License-Identifier: Apache-2.0
// What a user may do with nodes: the FileSystem's operations with Linux's permission rules in
// front. The kernel's system calls and the host API come through here; `namespace.h` turns paths
// into Nodes first.
//
// Errors are those of the Linux calls of the same names: EACCES, EPERM, EROFS, ENOTDIR, EEXIST, ...
#pragma once

#include <memory>
#include <string_view>

#include "vfs/filesystem.h"

namespace cloche::vfs {

// Whether `cred` has `wanted` on an inode like that: owner, then group, then others; root reads and
// writes all, and executes what anyone may execute.
Result<void> check_access(const Stat& stat, const Credentials& cred, Access wanted);
// The same for a node; EROFS for write to a file or directory of a read-only file system.
Result<void> check_access(const Node& node, const Credentials& cred, Access wanted);

// A new file, directory, fifo, socket name or device in `dir`. `mode` has the umask applied
// already; owner is `cred`, the group the directory's if that is set-gid (then a new directory is
// so too). Devices: root only (EPERM).
Result<Node> create(const Node& dir, std::string_view name, FileType type, std::uint32_t mode,
                    const Credentials& cred, std::uint64_t rdev = 0);
Result<Node> symlink(const Node& dir, std::string_view name, std::string_view target,
                     const Credentials& cred);
// A hard link to `node`: never of a directory (EPERM), never between file systems (EXDEV); of a
// file that is not one's own only if it is regular, neither set-id, and may be read and written
// (EPERM).
Result<void> link(const Node& node, const Node& dir, std::string_view name,
                  const Credentials& cred);
Result<void> unlink(const Node& dir, std::string_view name, const Credentials& cred);
Result<void> rmdir(const Node& dir, std::string_view name, const Credentials& cred);
Result<void> rename(const Node& old_dir, std::string_view old_name, const Node& new_dir,
                    std::string_view new_name, RenameMode mode, const Credentials& cred);

// Opens content with the permission check for `access` (execute opens for reading: exec).
// EISDIR for a directory with write; EINVAL for anything that is not a regular file or directory.
Result<std::unique_ptr<NodeIo>> open(const Node& node, Access access, const Credentials& cred);

// Up to `size_bytes` of opened content from `offset`; fewer where it ends. Files that are made up
// as they are read, such as those of /proc, say that they are empty: they are read all the same.
Result<std::string> read_range(NodeIo& io, std::uint64_t offset, std::size_t size_bytes);

Result<void> chmod(const Node& node, std::uint32_t mode, const Credentials& cred);
Result<void> chown(const Node& node, std::optional<std::uint32_t> uid,
                   std::optional<std::uint32_t> gid, const Credentials& cred);
Result<void> truncate(const Node& node, std::uint64_t size, const Credentials& cred);

// utimensat: each of the two is left alone, set to the clock's time, or set to a given one.
struct TimeChange {
  enum class Kind : std::uint8_t { omit, now, at };
  Kind kind = Kind::omit;
  Timestamp at = {};
};
// Owner only (EPERM), except that with both `now` the right to write is enough (EACCES).
Result<void> set_times(const Node& node, const TimeChange& atime, const TimeChange& mtime,
                       Timestamp now, const Credentials& cred);

Result<std::string> get_xattr(const Node& node, std::string_view name, const Credentials& cred);
Result<void> set_xattr(const Node& node, std::string_view name, std::string_view value,
                       FileSystem::XattrMode mode, const Credentials& cred);
Result<void> remove_xattr(const Node& node, std::string_view name, const Credentials& cred);

}  // namespace cloche::vfs
