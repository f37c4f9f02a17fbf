// SPDX-License-Identifier: Apache-2.0
// What HostFs's source files share: which inodes are known and where, and the only way to a
// descriptor of one.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <unordered_map>

#include "base/descriptor_path.h"
#include "base/unique_fd.h"
#include "vfs/hostfs.h"

namespace cloche::vfs {

struct HostFs::Impl {
  struct Entry {
    Ino parent = 0;  // 0: the root, or not linked as far as we know
    std::string name;
    std::uint64_t dev = 0, ino = 0;  // the host's
    std::uint64_t refs = 0;          // Nodes
    std::uint64_t children = 0;      // entries with this parent
  };

  // An inode that the host's descriptor refers to, checked to be that inode.
  struct Opened {
    UniqueFd fd;  // O_PATH
    struct statx st = {};
  };

  Impl(UniqueFd root, const struct statx& st, const Options& settings);
  Impl(const Impl& other, UniqueFd root);

  Ino number(std::uint64_t dev, std::uint64_t ino) const;
  static std::uint64_t device_of(const struct statx& st) {
    return makedev_of(st.stx_dev_major, st.stx_dev_minor);
  }
  static std::uint64_t makedev_of(std::uint32_t major, std::uint32_t minor) {
    return (std::uint64_t{major} << 32) | minor;
  }

  // Relative path from the folder, of what is below it; ENOENT when it is linked nowhere, ESTALE
  // when the places contradict each other.
  Result<std::string> path_of(Ino ino) const;
  // The one way to an inode: down from the folder, without links, then compared with what was
  // looked up.
  Result<Opened> open(Ino ino) const;
  Result<Opened> open_directory(Ino ino) const;
  // A descriptor with those flags of an inode that is open already; regular files and directories
  // only.
  static Result<UniqueFd> reopen(const UniqueFd& fd, int flags);
  Result<UniqueFd> duplicate_root() const;
  Result<UniqueFd> open_path(const std::string& path) const;
  Result<UniqueFd> open_path_by_steps(const std::string& path) const;

  // Remembers that `st` is at `dir`/`name`.
  Result<Ino> remember(Ino dir, std::string_view name, const struct statx& st);
  void place(Entry& entry, Ino dir, std::string_view name);
  // The inode is not at `dir`/`name` any more.
  void forget_place(Ino dir, std::string_view name, const struct statx& st);
  // Drops what nothing refers to, once there is much of it.
  void trim();

  Stat stat_of(Ino ino, const struct statx& st, std::uint64_t device) const;
  Result<void> check_writable() const {
    if (options.access == HostAccess::read_only) return Errno::rofs;
    return {};
  }

  UniqueFd root_fd;
  Options options;
  std::uint64_t root_dev = 0;
  Ino root_ino = 0;
  std::unordered_map<Ino, Entry> entries;
  std::size_t trim_at = 0;
  std::uint32_t open_count = 0;
  std::shared_ptr<Owner> owner;  // of what is opened; null: nobody
};

inline Errno last_error() { return errno_from_host(errno); }
// statx of a descriptor, or of `name` in a directory without following it.
Result<struct statx> host_stat(int fd, const char* name = "");
FileType host_type(const struct statx& st);

}  // namespace cloche::vfs
