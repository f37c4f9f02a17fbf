// SPDX-License-Identifier: Apache-2.0
// Names: making, removing, renaming and linking them, and the current directory.
#include <algorithm>
#include <array>

#include "kernel/linux/call.h"
#include "kernel/process/process_files.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t at_removedir = 0x200, at_symlink_follow = 0x400, at_empty_path = 0x1000;

SysResult mkdirat(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string path, call.path(1));
  CLOCHE_TRY(process_files::make_directory(call.process, {call.i32(0), path}, call.u32(2)));
  return 0;
}

SysResult mknodat(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string path, call.path(1));
  CLOCHE_TRY(process_files::make_node(call.process, {call.i32(0), path}, call.u32(2)));
  return 0;
}

SysResult unlinkat(Call& call) REQUIRES(kernel_lock) {
  if ((call.u32(2) & ~at_removedir) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::string path, call.path(1));
  const process_files::At at{call.i32(0), path};
  CLOCHE_TRY(call.u32(2) == at_removedir ? process_files::remove_directory(call.process, at)
                                         : process_files::unlink(call.process, at));
  return 0;
}

SysResult renameat2(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t no_replace = 1, exchange = 2;
  const std::uint32_t flags = call.u32(4);
  if (flags > exchange) return Errno::inval;
  const vfs::RenameMode mode = flags == no_replace ? vfs::RenameMode::no_replace
                               : flags == exchange ? vfs::RenameMode::exchange
                                                   : vfs::RenameMode::replace;
  CLOCHE_ASSIGN(const std::string from, call.path(1));
  CLOCHE_ASSIGN(const std::string to, call.path(3));
  CLOCHE_TRY(process_files::rename(call.process, {call.i32(0), from}, {call.i32(2), to}, mode));
  return 0;
}

SysResult linkat(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t flags = call.u32(4);
  if ((flags & ~(at_symlink_follow | at_empty_path)) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::string existing, call.path(1));
  CLOCHE_ASSIGN(const std::string name, call.path(3));
  CLOCHE_TRY(
      process_files::link(call.process, {call.i32(0), existing}, {call.i32(2), name},
                          (flags & at_symlink_follow) != 0 ? vfs::Follow::yes : vfs::Follow::no,
                          (flags & at_empty_path) != 0 ? process_files::Empty::descriptor
                                                       : process_files::Empty::refused));
  return 0;
}

SysResult symlinkat(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string target, call.path(0));
  CLOCHE_ASSIGN(const std::string path, call.path(2));
  CLOCHE_TRY(process_files::make_symlink(call.process, target, {call.i32(1), path}));
  return 0;
}

SysResult readlinkat(Call& call) REQUIRES(kernel_lock) {
  if (call.i32(3) <= 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::string path, call.path(1));
  CLOCHE_ASSIGN(const std::string target,
                process_files::read_link(call.process, {call.i32(0), path}));
  const auto shown = std::string_view(target).substr(0, call.u32(3));
  CLOCHE_TRY(call.memory.copy_out(call.u32(2), shown));
  return static_cast<std::int64_t>(shown.size());
}

SysResult chdir(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string path, call.path(0));
  CLOCHE_TRY(process_files::change_directory(call.process, {process_files::at_fdcwd, path}));
  return 0;
}

SysResult fchdir(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_TRY(process_files::change_directory(call.process, call.i32(0)));
  return 0;
}

// The length with its NUL, as the system call gives it.
SysResult getcwd(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string path, process_files::current_directory(call.process));
  const std::string_view with_nul(path.c_str(), path.size() + 1);
  if (call.u32(1) < with_nul.size()) return Errno::range;
  CLOCHE_TRY(call.memory.copy_out(call.u32(0), with_nul));
  return static_cast<std::int64_t>(with_nul.size());
}

// What only the host may change.
SysResult not_permitted(Call&) { return Errno::perm; }

SysResult name_to_handle_at(Call& call) {
  CLOCHE_TRY(call.path(1));
  return Errno::notsup;
}

SysResult umask(Call& call) REQUIRES(kernel_lock) {
  return std::exchange(call.process.umask, call.u32(0) & 0777);
}

constexpr auto path_entries = std::to_array<Entry>({
    {17, "getcwd", 2, getcwd},
    {33, "mknodat", 4, mknodat},
    {34, "mkdirat", 3, mkdirat},
    {35, "unlinkat", 3, unlinkat},
    {36, "symlinkat", 3, symlinkat},
    {37, "linkat", 5, linkat},
    {39, "umount2", 2, not_permitted, Support::refused, "EPERM"},
    {40, "mount", 5, not_permitted, Support::refused, "EPERM"},
    {41, "pivot_root", 2, not_permitted, Support::refused, "EPERM"},
    {49, "chdir", 1, chdir},
    {50, "fchdir", 1, fchdir},
    {51, "chroot", 1, not_permitted, Support::refused, "EPERM"},
    {78, "readlinkat", 4, readlinkat},
    {166, "umask", 1, umask},
    {264, "name_to_handle_at", 5, name_to_handle_at, Support::refused, "EOPNOTSUPP"},
    {265, "open_by_handle_at", 3, not_permitted, Support::refused, "EPERM"},
    {276, "renameat2", 5, renameat2},
});

}  // namespace

std::span<const Entry> path_calls() { return path_entries; }

}  // namespace cloche::kernel::lnx
