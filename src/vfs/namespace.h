// SPDX-License-Identifier: Apache-2.0
// Namespace: a root file system and what is mounted in it, and the way from paths to nodes.
//
// A path is walked as Linux walks it: search permission on every directory, "." and "..", mount
// points in both directions, symbolic links (40 at most), names of 255 and paths of 4095 bytes.
// There is no chroot. A file system is mounted in one place only, so a Node alone says where one
// is. Not thread-safe: under the kernel's lock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vfs/filesystem.h"

namespace cloche::vfs {

enum class Follow : std::uint8_t { yes, no };  // the last component, when it is a symbolic link

// Restrictions of openat2, as a set.
struct Resolve {
  static constexpr std::uint32_t no_xdev = 0x01, no_magiclinks = 0x02, no_symlinks = 0x04,
                                 beneath = 0x08, in_root = 0x10;
};

enum class LastKind : std::uint8_t { name, dot, dot_dot, root };  // what the path ends in

struct Resolved {
  Node parent;                 // the directory that holds the last component
  std::string name;            // the last component; empty unless last == LastKind::name
  std::optional<Node> target;  // what is there, if anything
  LastKind last = LastKind::name;
  bool trailing_slash = false;  // the path asks for a directory; the target was checked to be one
};

struct Mount {
  std::string source = {};  // as in /proc/mounts
  std::string path = {};    // where, absolute
  FsRef fs = {};
  Node mount_point = {};  // what it covers; empty for the root mount
  bool read_only = false;
};

class Namespace {
 public:
  explicit Namespace(FsRef root_fs, std::string source = "rootfs");
  ~Namespace();
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;

  Node root() const;

  // Walks `path` from `start` (or from the root when it is absolute). The last component may be
  // missing: then `target` is empty; anything missing before it is ENOENT. With Follow::yes a last
  // symbolic link is followed, and parent and name are those of where it leads (so that O_CREAT
  // makes the link's target). "" is ENOENT.
  Result<Resolved> resolve(const Node& start, std::string_view path, Follow follow,
                           const Credentials& cred, std::uint32_t restrictions = 0) const;

  // The same, for the callers that want an existing node: ENOENT when there is none.
  Result<Node> lookup(const Node& start, std::string_view path, Follow follow,
                      const Credentials& cred, std::uint32_t restrictions = 0) const;

  // The absolute path of a node, as getcwd and /proc/self/fd show it. ENOENT when it is linked
  // nowhere.
  Result<std::string> path_of(const Node& node) const;

  // Puts `fs` over the directory at `mount_point`, or over the file there where the root of `fs` is
  // a file. EBUSY when something is mounted there, or the file system is mounted already; ENOTDIR,
  // EISDIR where one is a directory and the other is not. `source` is for /proc/mounts.
  Result<void> mount(const Node& mount_point, FsRef fs, std::string source);
  // Makes the directories that lead to `path` (as root), and an empty file there for a file, and
  // mounts there.
  Result<void> mount_at(std::string_view path, FsRef fs, std::string source);
  const std::vector<Mount>& mounts() const;
  // See FileSystem::set_owner: of all that is mounted.
  void set_owner(const std::shared_ptr<Owner>& owner);
  // The mount that covers `node`, or nullptr: to remove or rename it is EBUSY.
  const Mount* mounted_on(const Node& node) const;

  // A namespace for a forked sandbox: every file system forked (FileSystem::fork_for); those that
  // belong to one kernel are left out, for the new kernel to mount. `quota_bytes` is for the root;
  // the parent's when absent. Throws HostError: no file system is left out for want of something.
  std::unique_ptr<Namespace> fork(std::optional<std::uint64_t> quota_bytes = std::nullopt) const;
  // After the open descriptions are carried over: frees what was unlinked in the parent and is not
  // referenced here.
  void drop_orphans();
  // The node of this forked namespace that corresponds to one of its parent; empty when its mount
  // was left out.
  Node counterpart(const Node& in_parent, const Namespace& parent) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche::vfs
