// SPDX-License-Identifier: Apache-2.0
// What MemFs's source files share: the inodes, the books of the quota, the counts of Nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "vfs/memfs_handles.h"
#include "vfs/memfs_state.h"

namespace cloche::vfs {

struct MemFs::Impl {
  Impl(memfs::State initial, Quota limits, Clock& time)
      : state(std::move(initial)), quota(limits), clock(time) {}

  static bool is_own(Ino ino) { return ino <= memfs::own_ino_max; }
  static Ino graft_bits(Ino ino) { return ino & ~memfs::own_ino_max; }
  const memfs::Graft* graft_of(Ino ino) const;

  // nullptr when there is no such inode.
  const memfs::Inode* find(Ino ino) const;
  Result<const memfs::Inode*> get(Ino ino) const;            // ESTALE
  Result<const memfs::Inode*> get_directory(Ino ino) const;  // ENOTDIR
  // A directory that a name may be added to or taken from: EROFS, ENOENT when it has been removed
  // itself.
  Result<const memfs::Inode*> get_own_directory(Ino ino) const;
  // EROFS for an inode of a graft.
  Result<const memfs::Inode*> get_own(Ino ino) const;
  // An inode of this tree that is there, for changing.
  memfs::Inode& mut(Ino ino) { return state.inodes.mut(ino); }
  memfs::Directory& mut_directory(Ino ino) { return mut(ino).dir.mut(); }

  std::uint64_t room_bytes() const {
    return quota.bytes > state.usage.bytes ? quota.bytes - state.usage.bytes : 0;
  }
  bool has_inode_room() const { return state.usage.inodes < quota.inodes; }
  static std::uint64_t extra_charge(const memfs::Inode& inode);

  // EEXIST, ENOSPC, EMLINK: whether `name` may be added to `dir`.
  Result<void> check_new_name(const memfs::Inode& dir, std::string_view name) const;
  // Adds the name (checked before) and tells the inode where it is.
  void add_entry(Ino dir, std::string_view name, memfs::Entry entry);
  // A new inode under that name; it has its type, owner and content already.
  Ino add_inode(Ino dir, std::string_view name, Ref<memfs::Inode> inode);
  // The name, which is there, is another inode's from now on.
  void change_entry(Ino dir, std::string_view name, const memfs::Entry& now);
  // Takes the name away, without touching the inode.
  memfs::Entry remove_entry(Ino dir, std::string_view name);
  // An entry to `ino` is gone: frees the inode when it was the last one and nothing refers to it.
  void drop_link(Ino ino, bool charged);
  void free_inode(Ino ino);

  memfs::State state;
  Quota quota;
  Clock& clock;
  memfs::HandleCounts handles;
  // Of all content that is held; it may outlive this.
  std::shared_ptr<std::atomic<std::uint64_t>> held_bytes =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  bool building_base = false;  // what is made is a base's, and costs nothing
};

}  // namespace cloche::vfs
