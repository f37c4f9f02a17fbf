// SPDX-License-Identifier: Apache-2.0
// The state of a MemFs as a value: copying it is O(1) and makes an independent tree (see memfs.h).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "vfs/memfs.h"
#include "vfs/memfs_content.h"
#include "vfs/memfs_directory.h"
#include "vfs/radix_map.h"

namespace cloche::vfs::memfs {

// The parts that few inodes have.
struct Extra {
  static Extra* clone(const Extra& other) {
    Extra* copy = new Extra;
    copy->target = other.target;
    copy->xattrs = other.xattrs;
    return copy;
  }
  static void destroy(Extra* extra) noexcept { delete extra; }

  std::atomic<std::uint32_t> refs{1};
  std::string target;  // of a symbolic link
  std::map<std::string, std::string, std::less<>> xattrs;
};

struct Inode {
  Inode() = default;
  static Inode* clone(const Inode& other) { return new Inode(other); }
  static void destroy(Inode* inode) noexcept { delete inode; }

  std::atomic<std::uint32_t> refs{1};
  FileType type = FileType::regular;
  bool base = false;            // came from a BaseBuilder
  bool orphan_charged = false;  // unlinked, still referenced, and its name cost an inode of quota
  std::uint32_t mode = 0;
  std::uint32_t nlink = 1;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t rdev = 0;
  std::uint64_t program = 0;
  Timestamp atime, mtime, ctime, btime;
  // Where it was linked last; the entry there says whether that still holds.
  Ino parent = 0;
  std::uint64_t parent_cookie = 0;

  Content content;     // regular
  Ref<Directory> dir;  // directory
  Ref<Extra> extra;

 private:
  Inode(const Inode& o)
      : type(o.type),
        base(o.base),
        orphan_charged(o.orphan_charged),
        mode(o.mode),
        nlink(o.nlink),
        uid(o.uid),
        gid(o.gid),
        rdev(o.rdev),
        program(o.program),
        atime(o.atime),
        mtime(o.mtime),
        ctime(o.ctime),
        btime(o.btime),
        parent(o.parent),
        parent_cookie(o.parent_cookie),
        content(o.content),
        dir(o.dir),
        extra(o.extra) {}
};

// Inode numbers: the low 40 bits count, the high ones say in which grafted tree (0: this one).
constexpr unsigned graft_shift = 40;
constexpr Ino own_ino_max = (Ino{1} << graft_shift) - 1;
// Ever: a number is not given again, and each change copies all of them.
constexpr std::uint64_t grafts_max = 4096;
static_assert(grafts_max < std::uint64_t{1} << (63 - graft_shift));
constexpr Ino root_ino = 1;

struct Graft {
  Frozen tree;
  Ino source = 0;  // number in `tree` of what the graft shows
  Ino dir = 0;     // directory of ours that it is linked in; 0 when it has been taken out
  std::uint64_t cookie = 0;
};

// Immutable once made; graft n is at index n - 1. Never shrinks: Nodes may be left in any of them.
using Grafts = std::vector<Graft>;

struct State {
  RadixMap<Inode> inodes;
  Ino next_ino = root_ino;
  Usage usage;
  std::shared_ptr<const Grafts> grafts;
  std::set<Ino> orphans;  // unlinked, still referenced
};

// Limits beside the quota.
constexpr std::uint32_t links_max = 65000;
constexpr std::size_t target_max = 4095;
constexpr std::size_t xattr_value_max = 65536;
constexpr std::size_t xattr_overhead = 64;

}  // namespace cloche::vfs::memfs
