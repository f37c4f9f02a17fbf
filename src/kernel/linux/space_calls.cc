// SPDX-License-Identifier: Apache-2.0
// The space of a file: its size, what is allocated of it, what is brought to its disk, and advice
// about it.
#include <array>

#include "kernel/files/node_file.h"
#include "kernel/kernel.h"
#include "kernel/linux/call.h"
#include "kernel/process/process_files.h"

namespace cloche::kernel::lnx {
namespace {

SysResult truncate64(Call& call) REQUIRES(kernel_lock) {
  if (call.i64(1) < 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::string path, call.path(0));
  CLOCHE_TRY(process_files::truncate(call.process, {process_files::at_fdcwd, path}, call.u64(1)));
  return 0;
}

SysResult ftruncate64(Call& call) REQUIRES(kernel_lock) {
  if (call.i64(1) < 0) return Errno::inval;
  CLOCHE_TRY(process_files::truncate(call.process, call.i32(0), call.u64(1)));
  return 0;
}

SysResult fallocate(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_writable(call.i32(0)));
  if (call.i64(2) < 0 || call.i64(4) <= 0) return Errno::inval;
  auto* node_file = dynamic_cast<NodeFile*>(file.get());
  if (node_file == nullptr) {
    CLOCHE_ASSIGN(const vfs::Stat stat, file->stat());
    return stat.type == vfs::FileType::fifo ? Errno::spipe : Errno::nodev;
  }
  CLOCHE_TRY(node_file->allocate(call.task, call.u32(1), call.u64(2), call.u64(4)));
  return 0;
}

// fsync and its kin: EINVAL for what has no storage behind it.
SysResult fsync(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  auto* node_file = dynamic_cast<NodeFile*>(file.get());
  if (node_file == nullptr) return Errno::inval;
  CLOCHE_TRY(node_file->sync());
  return 0;
}

SysResult sync_file_range(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t known = 7;
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  if (call.i64(1) < 0 || call.i64(3) < 0 || (call.u32(5) & ~known) != 0) return Errno::inval;
  auto* node_file = dynamic_cast<NodeFile*>(file.get());
  if (node_file == nullptr) return Errno::spipe;
  CLOCHE_TRY(node_file->sync());
  return 0;
}

SysResult sync(Call& call) REQUIRES(kernel_lock) {
  for (const vfs::Mount& mount : call.kernel.files().mounts()) (void)mount.fs->sync();
  return 0;
}

SysResult syncfs(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const vfs::Node node, process_files::node_of(call.process, call.i32(0)));
  CLOCHE_TRY(node.fs().sync());
  return 0;
}

// Advice changes nothing here: all files are in memory, or the host knows best. Its arguments are
// checked all the same.
SysResult fadvise64_64(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t advice_end = 6;
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  if (dynamic_cast<const InodeFile*>(file.get()) == nullptr) return Errno::spipe;
  if (call.i64(3) < 0 || call.u32(5) >= advice_end) return Errno::inval;
  return 0;
}

SysResult readahead(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_readable(call.i32(0)));
  const auto* node_file = dynamic_cast<const NodeFile*>(file.get());
  return node_file == nullptr || node_file->is_directory() ? SysResult(Errno::inval) : SysResult(0);
}

constexpr auto space_entries = std::to_array<Entry>({
    {45, "truncate64", 3, truncate64},
    {46, "ftruncate64", 3, ftruncate64},
    {47, "fallocate", 6, fallocate},
    {81, "sync", 0, sync},
    {82, "fsync", 1, fsync},
    {83, "fdatasync", 1, fsync},
    {84, "sync_file_range", 6, sync_file_range, Support::accepted},
    {213, "readahead", 4, readahead, Support::accepted, "files are in memory"},
    {223, "fadvise64_64", 6, fadvise64_64, Support::accepted, "files are in memory"},
    {267, "syncfs", 1, syncfs},
});

}  // namespace

std::span<const Entry> space_calls() { return space_entries; }

}  // namespace cloche::kernel::lnx
