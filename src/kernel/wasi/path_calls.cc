// SPDX-License-Identifier: Apache-2.0
// path_*: the tree below a directory descriptor.
#include "kernel/process/process_files.h"
#include "kernel/wasi/file_stat.h"
#include "kernel/wasi/path_target.h"
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {
namespace {

using u32 = std::uint32_t;

constexpr std::uint32_t new_directory_mode = 0777;  // before the umask
constexpr std::uint32_t new_file_mode = 0666;

Result<vfs::Follow> follow_of(std::uint32_t lookupflags) {
  if ((lookupflags & ~lookup_symlink_follow) != 0) return Errno::inval;
  return lookupflags != 0 ? vfs::Follow::yes : vfs::Follow::no;
}

Result<void> path_create_directory(Call& call, u32 fd, u32 path, u32 length) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const PathTarget where, path_target(call, {fd, path, length}, Purpose::make));
  return process_files::make_directory(call.process, where.at(), new_directory_mode);
}

Result<void> path_filestat_get(Call& call, u32 fd, u32 lookupflags, u32 path, u32 length, u32 out)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const vfs::Follow follow, follow_of(lookupflags));
  CLOCHE_ASSIGN(const PathTarget where, path_target(call, {fd, path, length}, Purpose::find));
  CLOCHE_ASSIGN(const vfs::Stat stat, process_files::stat(call.process, where.at(), follow));
  return call.memory.write(out, file_stat(stat));
}

Result<void> path_filestat_set_times(Call& call, u32 fd, u32 lookupflags, u32 path, u32 length,
                                     std::uint64_t atim_ns, std::uint64_t mtim_ns, u32 fstflags)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const vfs::Follow follow, follow_of(lookupflags));
  CLOCHE_ASSIGN(const PathTarget where, path_target(call, {fd, path, length}, Purpose::find));
  CLOCHE_ASSIGN(const TimeChanges changes, time_changes(atim_ns, mtim_ns, fstflags));
  CLOCHE_ASSIGN(const vfs::Node node, process_files::lookup(call.process, where.at(), follow));
  return process_files::set_times(call.process, node, changes.atime, changes.mtime);
}

Result<void> path_link(Call& call, u32 old_fd, u32 lookupflags, u32 old_path, u32 old_length,
                       u32 new_fd, u32 new_path, u32 new_length) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const vfs::Follow follow, follow_of(lookupflags));
  CLOCHE_ASSIGN(const PathTarget existing,
                path_target(call, {old_fd, old_path, old_length}, Purpose::find));
  CLOCHE_ASSIGN(const PathTarget name,
                path_target(call, {new_fd, new_path, new_length}, Purpose::make));
  return process_files::link(call.process, existing.at(), name.at(), follow);
}

// preview1 has no access mode: it follows from the rights that are asked for. A call that asks for
// neither reading nor writing gets reading, and one that asks to write a directory gets what a
// directory gives.
std::uint32_t access_of(std::uint64_t rights, std::uint32_t oflags) {
  constexpr Rights reading = right_fd_read | right_fd_readdir;
  constexpr Rights writing =
      right_fd_write | right_fd_datasync | right_fd_allocate | right_fd_filestat_set_size;
  if ((oflags & oflag_directory) != 0 || (rights & writing) == 0) return o_rdonly;
  return (rights & reading) != 0 ? o_rdwr : o_wronly;
}

Result<void> path_open(Call& call, u32 fd, u32 lookupflags, u32 path, u32 length, u32 oflags,
                       std::uint64_t rights_base, std::uint64_t /*rights_inheriting*/, u32 fdflags,
                       u32 out) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const vfs::Follow follow, follow_of(lookupflags));
  if ((oflags & ~oflags_all) != 0 || (fdflags & ~fdflags_all) != 0) return Errno::inval;
  const bool creating = (oflags & oflag_creat) != 0;
  CLOCHE_ASSIGN(const PathTarget where,
                path_target(call, {fd, path, length}, creating ? Purpose::make : Purpose::find));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  std::uint32_t flags = access_of(rights_base, oflags) | open_flags_of(fdflags) | o_noctty;
  if (creating) flags |= o_creat;
  if ((oflags & oflag_directory) != 0) flags |= o_directory;
  if ((oflags & oflag_excl) != 0) flags |= o_excl;
  if ((oflags & oflag_trunc) != 0) flags |= o_trunc;
  if (follow == vfs::Follow::no) flags |= o_nofollow;
  CLOCHE_ASSIGN(FilePtr file, process_files::open(call.task, where.at(), flags, new_file_mode));
  // A WASI program has no exec; what it opens is not for the programs that others start in its
  // place.
  CLOCHE_ASSIGN(const std::int32_t opened, call.process.fds.install(std::move(file), o_cloexec));
  return call.memory.write(out, static_cast<std::uint32_t>(opened));
}

Result<void> path_readlink(Call& call, u32 fd, u32 path, u32 length, u32 buf, u32 buf_length,
                           u32 out) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const PathTarget where, path_target(call, {fd, path, length}, Purpose::find));
  CLOCHE_ASSIGN(std::string target, process_files::read_link(call.process, where.at()));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  if (target.size() > buf_length) target.resize(buf_length);
  CLOCHE_TRY(call.memory.copy_out(buf, target));
  return call.memory.write(out, static_cast<std::uint32_t>(target.size()));
}

Result<void> path_remove_directory(Call& call, u32 fd, u32 path, u32 length) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const PathTarget where, path_target(call, {fd, path, length}, Purpose::find));
  return process_files::remove_directory(call.process, where.at());
}

Result<void> path_rename(Call& call, u32 old_fd, u32 old_path, u32 old_length, u32 new_fd,
                         u32 new_path, u32 new_length) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const PathTarget from,
                path_target(call, {old_fd, old_path, old_length}, Purpose::find));
  CLOCHE_ASSIGN(const PathTarget to,
                path_target(call, {new_fd, new_path, new_length}, Purpose::make));
  return process_files::rename(call.process, from.at(), to.at(), vfs::RenameMode::replace);
}

Result<void> path_symlink(Call& call, u32 old_path, u32 old_length, u32 fd, u32 new_path,
                          u32 new_length) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string target, call.path(old_path, old_length));
  CLOCHE_ASSIGN(const PathTarget where,
                path_target(call, {fd, new_path, new_length}, Purpose::make));
  return process_files::make_symlink(call.process, target, where.at());
}

Result<void> path_unlink_file(Call& call, u32 fd, u32 path, u32 length) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const PathTarget where, path_target(call, {fd, path, length}, Purpose::find));
  return process_files::unlink(call.process, where.at());
}

}  // namespace

Functions path_calls() {
  return {function<"path_create_directory", path_create_directory>(),
          function<"path_filestat_get", path_filestat_get>(),
          function<"path_filestat_set_times", path_filestat_set_times>(),
          function<"path_link", path_link>(),
          function<"path_open", path_open>(),
          function<"path_readlink", path_readlink>(),
          function<"path_remove_directory", path_remove_directory>(),
          function<"path_rename", path_rename>(),
          function<"path_symlink", path_symlink>(),
          function<"path_unlink_file", path_unlink_file>()};
}

}  // namespace cloche::kernel::wasi
