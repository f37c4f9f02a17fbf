// SPDX-License-Identifier: Apache-2.0
// Attributes of files: statx, permissions, owners, times, file systems.
#include <algorithm>
#include <array>

#include "kernel/linux/call.h"
#include "kernel/linux/xattr_calls.h"
#include "kernel/process/process_files.h"

namespace cloche::kernel::lnx {
namespace {

using process_files::At;
using process_files::Empty;
using vfs::Follow;

constexpr std::uint32_t at_symlink_nofollow = 0x100, at_eaccess = 0x200, at_no_automount = 0x800,
                        at_empty_path = 0x1000, at_statx_sync_type = 0x6000;

Follow follow_of(std::uint32_t flags) {
  return (flags & at_symlink_nofollow) != 0 ? Follow::no : Follow::yes;
}
Empty empty_of(std::uint32_t flags) {
  return (flags & at_empty_path) != 0 ? Empty::descriptor : Empty::refused;
}

// A path that may be null where the descriptor itself can be meant.
Result<std::string> path_or_empty(const Call& call, std::size_t i, std::uint32_t flags) {
  if (call.u32(i) == 0 && (flags & at_empty_path) != 0) return std::string();
  return call.path(i);
}

// --- statx --------------------------------------------------------------------------------------

struct GuestStatxTime {
  std::int64_t s;
  std::uint32_t ns;
  std::int32_t pad;
};

struct GuestStatx {
  std::uint32_t mask, blksize;
  std::uint64_t attributes;
  std::uint32_t nlink, uid, gid;
  std::uint16_t mode, pad;
  std::uint64_t ino, size, blocks, attributes_mask;
  GuestStatxTime atime, btime, ctime, mtime;
  std::uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
  std::array<std::uint64_t, 14> rest;
};
static_assert(sizeof(GuestStatx) == 256);

GuestStatxTime guest_time(const vfs::Timestamp& time) { return {time.s, time.ns, 0}; }

// What is known is given, asked for or not, as the mask of the answer says.
GuestStatx guest_statx(const vfs::Stat& stat) {
  constexpr std::uint32_t basic_stats = 0x7ff, with_btime = 0x800;
  GuestStatx out{};
  out.mask = basic_stats | with_btime;
  out.blksize = stat.blksize;
  out.nlink = stat.nlink;
  out.uid = stat.uid;
  out.gid = stat.gid;
  out.mode = static_cast<std::uint16_t>(vfs::type_bits(stat.type) | (stat.mode & vfs::mode::all));
  out.ino = stat.ino;
  out.size = stat.size;
  out.blocks = stat.blocks;
  out.atime = guest_time(stat.atime);
  out.btime = guest_time(stat.btime);
  out.ctime = guest_time(stat.ctime);
  out.mtime = guest_time(stat.mtime);
  out.rdev_major = vfs::dev_major(stat.rdev);
  out.rdev_minor = vfs::dev_minor(stat.rdev);
  out.dev_major = vfs::dev_major(stat.dev);
  out.dev_minor = vfs::dev_minor(stat.dev);
  return out;
}

SysResult statx(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t known =
      at_symlink_nofollow | at_no_automount | at_empty_path | at_statx_sync_type;
  constexpr std::uint32_t mask_reserved = 0x80000000;
  const std::uint32_t flags = call.u32(2);
  if ((flags & ~known) != 0 || (flags & at_statx_sync_type) == at_statx_sync_type)
    return Errno::inval;
  if ((call.u32(3) & mask_reserved) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::string path, path_or_empty(call, 1, flags));
  CLOCHE_ASSIGN(const vfs::Stat stat, process_files::stat(call.process, {call.i32(0), path},
                                                          follow_of(flags), empty_of(flags)));
  CLOCHE_TRY(call.memory.write(call.u32(4), guest_statx(stat)));
  return 0;
}

// --- statfs -------------------------------------------------------------------------------------

struct GuestStatfs {
  std::uint32_t type, bsize;
  std::uint64_t blocks, bfree, bavail, files, ffree;
  std::array<std::uint32_t, 2> fsid;
  std::uint32_t namelen, frsize, flags;
  std::array<std::uint32_t, 4> spare;
  std::uint32_t pad;
};
static_assert(sizeof(GuestStatfs) == 88);

SysResult put_statfs(const Call& call, const vfs::StatFs& fs, std::uint64_t device) {
  constexpr std::uint32_t st_rdonly = 1, st_valid = 0x20, st_relatime = 0x1000;
  constexpr std::uint32_t packed_bytes = 84;  // where the structure is not padded to 8
  if (call.u32(1) != sizeof(GuestStatfs) && call.u32(1) != packed_bytes) return Errno::inval;
  GuestStatfs out{};
  out.type = static_cast<std::uint32_t>(fs.magic);
  out.bsize = out.frsize = static_cast<std::uint32_t>(fs.block_size);
  out.blocks = fs.blocks;
  out.bfree = out.bavail = fs.blocks_free;
  out.files = fs.inodes;
  out.ffree = fs.inodes_free;
  out.fsid = {static_cast<std::uint32_t>(device), static_cast<std::uint32_t>(device >> 32)};
  out.namelen = vfs::name_max;
  out.flags = st_valid | st_relatime | (fs.read_only ? st_rdonly : 0);
  CLOCHE_TRY(
      call.memory.copy_out(call.u32(2), std::as_bytes(std::span(&out, 1)).first(call.u32(1))));
  return 0;
}

SysResult statfs64(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string path, call.path(0));
  CLOCHE_ASSIGN(const vfs::Node node,
                process_files::lookup(call.process, {process_files::at_fdcwd, path}, Follow::yes));
  return put_statfs(call, node.fs().statfs(), node.fs().device());
}

SysResult fstatfs64(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if (const vfs::Node* node = file->node())
    return put_statfs(call, node->fs().statfs(), node->fs().device());
  constexpr std::uint64_t anonymous_inode_magic = 0x09041934;
  return put_statfs(call, vfs::StatFs{.magic = anonymous_inode_magic}, 0);
}

// --- Permissions and owners ---------------------------------------------------------------------

SysResult check_access(Call& call, std::uint32_t flags) REQUIRES(kernel_lock) {
  constexpr std::uint32_t read_write_execute = 7;
  if ((call.u32(2) & ~read_write_execute) != 0) return Errno::inval;
  if ((flags & ~(at_symlink_nofollow | at_eaccess | at_empty_path)) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::string path, path_or_empty(call, 1, flags));
  CLOCHE_TRY(process_files::access(call.process, {call.i32(0), path},
                                   static_cast<vfs::Access>(call.u32(2)), follow_of(flags),
                                   empty_of(flags)));
  return 0;
}

SysResult faccessat(Call& call) REQUIRES(kernel_lock) { return check_access(call, 0); }
SysResult faccessat2(Call& call) REQUIRES(kernel_lock) { return check_access(call, call.u32(3)); }

SysResult fchmod(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const vfs::Node node, process_files::node_of(call.process, call.i32(0)));
  CLOCHE_TRY(process_files::change_mode(call.process, node, call.u32(1)));
  return 0;
}

SysResult change_mode(Call& call, std::uint32_t flags) REQUIRES(kernel_lock) {
  if ((flags & ~(at_symlink_nofollow | at_empty_path)) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::string path, path_or_empty(call, 1, flags));
  CLOCHE_ASSIGN(const vfs::Node node, process_files::lookup(call.process, {call.i32(0), path},
                                                            follow_of(flags), empty_of(flags)));
  CLOCHE_TRY(process_files::change_mode(call.process, node, call.u32(2)));
  return 0;
}

SysResult fchmodat(Call& call) REQUIRES(kernel_lock) { return change_mode(call, 0); }
SysResult fchmodat2(Call& call) REQUIRES(kernel_lock) { return change_mode(call, call.u32(3)); }

SysResult fchown(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const vfs::Node node, process_files::node_of(call.process, call.i32(0)));
  CLOCHE_TRY(process_files::change_owner(call.process, node, call.u32(1), call.u32(2)));
  return 0;
}

SysResult fchownat(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t flags = call.u32(4);
  if ((flags & ~(at_symlink_nofollow | at_empty_path)) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::string path, path_or_empty(call, 1, flags));
  CLOCHE_ASSIGN(const vfs::Node node, process_files::lookup(call.process, {call.i32(0), path},
                                                            follow_of(flags), empty_of(flags)));
  CLOCHE_TRY(process_files::change_owner(call.process, node, call.u32(2), call.u32(3)));
  return 0;
}

// --- Times --------------------------------------------------------------------------------------

// struct __kernel_timespec; of the nanoseconds only the low word counts, what lies above is padding
// in a 32-bit program.
struct GuestTime {
  std::int64_t s;
  std::uint32_t ns, pad;
};

Result<vfs::TimeChange> time_change(const GuestTime& time) {
  using Kind = vfs::TimeChange::Kind;
  constexpr std::uint32_t utime_now = 0x3fffffff, utime_omit = 0x3ffffffe,
                          second_ns = 1'000'000'000;
  if (time.ns == utime_now) return vfs::TimeChange{Kind::now, {}};
  if (time.ns == utime_omit) return vfs::TimeChange{Kind::omit, {}};
  if (time.ns >= second_ns) return Errno::inval;
  return vfs::TimeChange{Kind::at, {time.s, time.ns}};
}

SysResult utimensat(Call& call) REQUIRES(kernel_lock) {
  using Kind = vfs::TimeChange::Kind;
  const std::uint32_t flags = call.u32(3);
  vfs::TimeChange atime{Kind::now, {}}, mtime{Kind::now, {}};
  if (call.u32(2) != 0) {
    using Times = std::array<GuestTime, 2>;
    CLOCHE_ASSIGN(const Times times, call.memory.read<Times>(call.u32(2)));
    CLOCHE_ASSIGN(atime, time_change(times[0]));
    CLOCHE_ASSIGN(mtime, time_change(times[1]));
    if (atime.kind == Kind::omit && mtime.kind == Kind::omit) return 0;
  }
  if ((flags & ~(at_symlink_nofollow | at_empty_path)) != 0) return Errno::inval;
  vfs::Node node;
  if (call.u32(1) == 0 && call.i32(0) != process_files::at_fdcwd) {
    if (flags != 0) return Errno::inval;
    CLOCHE_ASSIGN(node, process_files::node_of(call.process, call.i32(0)));
  } else {
    CLOCHE_ASSIGN(const std::string path, call.path(1));
    CLOCHE_ASSIGN(node, process_files::lookup(call.process, {call.i32(0), path}, follow_of(flags),
                                              empty_of(flags)));
  }
  CLOCHE_TRY(process_files::set_times(call.process, node, atime, mtime));
  return 0;
}

constexpr auto attribute_entries = std::to_array<Entry>({
    {5, "setxattr", 5, setxattr, Support::partial, "the name space user. only"},
    {6, "lsetxattr", 5, lsetxattr, Support::partial, "the name space user. only"},
    {7, "fsetxattr", 5, fsetxattr, Support::partial, "the name space user. only"},
    {8, "getxattr", 4, getxattr, Support::partial, "the name space user. only"},
    {9, "lgetxattr", 4, lgetxattr, Support::partial, "the name space user. only"},
    {10, "fgetxattr", 4, fgetxattr, Support::partial, "the name space user. only"},
    {11, "listxattr", 3, listxattr},
    {12, "llistxattr", 3, llistxattr},
    {13, "flistxattr", 3, flistxattr},
    {14, "removexattr", 2, removexattr},
    {15, "lremovexattr", 2, lremovexattr},
    {16, "fremovexattr", 2, fremovexattr},
    {43, "statfs64", 3, statfs64},
    {44, "fstatfs64", 3, fstatfs64},
    {48, "faccessat", 3, faccessat},
    {52, "fchmod", 2, fchmod},
    {53, "fchmodat", 3, fchmodat},
    {54, "fchownat", 5, fchownat},
    {55, "fchown", 3, fchown},
    {291, "statx", 5, statx},
    {412, "utimensat_time64", 4, utimensat},
    {439, "faccessat2", 4, faccessat2},
    {452, "fchmodat2", 4, fchmodat2},
});

}  // namespace

std::span<const Entry> attribute_calls() { return attribute_entries; }

}  // namespace cloche::kernel::lnx
