// SPDX-License-Identifier: Apache-2.0
// MemFs: a copy-on-write file system in memory.
//
// Its state is a persistent structure: inodes, directories and pages of content are counted nodes,
// and a change clones only the nodes that another state also holds. So a snapshot or a fork costs
// O(1) whatever the tree holds, and all sandboxes of a process share one base. A state that is not
// changed any more is a `Frozen`: any number of threads may fork from it and read it at once (its
// counts are atomic).
//
// Quota. Only what the user adds counts; what came from a base (BaseBuilder) or a graft costs
// nothing.
// Bytes: content in the 4 KiB pages that a file holds, the page with the file's end only up to that
// end (so a file of n written bytes costs n, and holes cost nothing); a page of a base file counts
// from when it is written. Targets of symbolic links by their length; extended attributes by their
// bytes plus 64 each.
// Inodes: one for each name in a directory (so a further hard link costs one too), and one for each
// file that is unlinked but still referenced.
// ENOSPC comes before anything is allocated; space is back after the last link and the last Node,
// after truncate and punch_hole. Host memory is bounded by about 1.2 x bytes + 2 KiB x inodes.
//
// Times: atime is kept as with `relatime`, and not at all for files of a base or a graft.
#pragma once

#include <memory>

#include "vfs/filesystem.h"

namespace cloche::vfs {

struct Quota {
  std::uint64_t bytes = UINT64_MAX;
  std::uint64_t inodes = UINT64_MAX;
};

struct Usage {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};

namespace memfs {
struct State;  // memfs_state.h
}

// An immutable state of a MemFs: a base layer, a package tree, a snapshot. Cheap to copy;
// thread-safe.
class Frozen {
 public:
  Frozen() = default;
  explicit Frozen(std::shared_ptr<const memfs::State> state) : state_(std::move(state)) {}
  explicit operator bool() const { return state_ != nullptr; }
  const memfs::State& state() const { return *state_; }
  const std::shared_ptr<const memfs::State>& shared() const { return state_; }

 private:
  std::shared_ptr<const memfs::State> state_;
};

class MemFs final : public FileSystem {
 public:
  // An empty tree: a root directory (0755, root's). `clock` outlives the file system.
  MemFs(Quota quota, Clock& clock);
  // A fork of a state, in O(1). Usage goes on from what the state's tree holds beyond its base.
  MemFs(const Frozen& state, Quota quota, Clock& clock);

  // The state now, in O(1). Files that are unlinked but open are in it until the fork lets them go.
  Frozen freeze() const;

  // An independent copy in O(1). Files that are unlinked but referenced here are in it too, so that
  // open descriptions can be carried over: take Nodes of them, then call drop_orphans(). Not
  // called: they stay charged, no harm else.
  TypedFsRef<MemFs> fork(Quota quota) const;

  // Links the subtree at `source` of a frozen state (0: its root) into this tree as `dir`/`name`,
  // read-only (EROFS), without quota, in O(1). EEXIST when the name is taken. A guest can neither
  // remove nor rename it (EBUSY). A tree that has grafts itself is EOPNOTSUPP. ungraft takes it
  // out; Nodes in it stay readable. ENOENT when `name` is no graft. ENOSPC: there have been
  // thousands of them, here and where it was forked from.
  Result<Ino> graft(Ino dir, std::string_view name, const Frozen& state, Ino source = 0);
  Result<void> ungraft(Ino dir, std::string_view name);

  const Quota& quota() const;
  void set_quota(Quota quota);  // less than what is used: then every growth is ENOSPC
  Usage usage() const;
  Clock& clock() const;

  Ino root() const override;
  Result<Ino> lookup(Ino dir, std::string_view name) override;
  Result<Ino> parent(Ino dir) override;
  Result<Location> locate(Ino ino) override;
  Result<Stat> stat(Ino ino) override;
  Result<void> set_attr(Ino ino, const SetAttr& attr) override;
  Result<Ino> create(Ino dir, std::string_view name, const NewNode& node) override;
  Result<Ino> symlink(Ino dir, std::string_view name, std::string_view target,
                      const NewNode& node) override;
  Result<void> link(Ino ino, Ino dir, std::string_view name) override;
  Result<void> unlink(Ino dir, std::string_view name) override;
  Result<void> rmdir(Ino dir, std::string_view name) override;
  Result<void> rename(Ino old_dir, std::string_view old_name, Ino new_dir,
                      std::string_view new_name, RenameMode mode) override;
  Result<std::string> readlink(Ino ino) override;
  Result<std::unique_ptr<NodeIo>> open(Ino ino, Access access) override;
  std::uint64_t program(Ino ino) override;
  std::optional<SharedBytes> shared_content(Ino ino) override;
  Result<std::string> get_xattr(Ino ino, std::string_view name) override;
  Result<void> set_xattr(Ino ino, std::string_view name, std::string_view value,
                         XattrMode mode) override;
  Result<void> remove_xattr(Ino ino, std::string_view name) override;
  Result<std::vector<std::string>> list_xattrs(Ino ino) override;
  StatFs statfs() override;
  std::string_view type_name() const override { return "tmpfs"; }
  bool tells_changes() const override { return true; }
  FsRef fork_for(std::optional<std::uint64_t> quota_bytes) override;
  void drop_orphans() override;

 protected:
  ~MemFs() override;
  void acquire(Ino ino) override;
  void release(Ino ino) noexcept override;

 private:
  friend class BaseBuilder;
  friend class TreeReader;
  struct Impl;
  class Io;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche::vfs
