// SPDX-License-Identifier: Apache-2.0
// The state of descriptors: fd_advise, fd_allocate, fd_close, fd_datasync, fd_fdstat_*,
// fd_filestat_*, fd_renumber, fd_seek, fd_sync, fd_tell.
#include "kernel/files/node_file.h"
#include "kernel/process/process_files.h"
#include "kernel/wasi/file_stat.h"
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {
namespace {

constexpr std::int32_t as_fd(std::uint32_t fd) { return static_cast<std::int32_t>(fd); }

// The file as one with an inode's content; `otherwise` for anything else.
Result<std::shared_ptr<NodeFile>> node_file(const Call& call, std::uint32_t fd, Errno otherwise)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(FilePtr file, call.file(fd));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  auto node = std::dynamic_pointer_cast<NodeFile>(std::move(file));
  if (!node) return otherwise;
  return node;
}

Result<void> check_range(std::uint64_t offset, std::uint64_t length) {
  constexpr auto last = static_cast<std::uint64_t>(INT64_MAX);
  if (offset > last || length > last) return Errno::inval;
  if (length > last - offset) return Errno::fbig;
  return {};
}

// Advice changes nothing here: everything is in memory.
Result<void> fd_advise(Call& call, std::uint32_t fd, std::uint64_t offset, std::uint64_t length,
                       std::uint32_t advice) REQUIRES(kernel_lock) {
  CLOCHE_TRY(node_file(call, fd, Errno::spipe));
  if (advice > advice_last) return Errno::inval;
  constexpr auto last = static_cast<std::uint64_t>(INT64_MAX);
  if (offset > last || length > last) return Errno::inval;
  return {};
}

Result<void> fd_allocate(Call& call, std::uint32_t fd, std::uint64_t offset, std::uint64_t length)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<NodeFile> file, node_file(call, fd, Errno::spipe));
  if (!file->writable()) return Errno::badf;
  if (length == 0) return Errno::inval;
  CLOCHE_TRY(check_range(offset, length));
  return file->allocate(call.task, 0, offset, length);
}

Result<void> fd_close(Call& call, std::uint32_t fd) REQUIRES(kernel_lock) {
  return process_files::close(call.process, as_fd(fd));
}

Result<void> fd_sync(Call& call, std::uint32_t fd) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::shared_ptr<NodeFile> file, node_file(call, fd, Errno::inval));
  return file->sync();
}

Result<void> fd_fdstat_get(Call& call, std::uint32_t fd, std::uint32_t out) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.file(fd));
  CLOCHE_ASSIGN(const vfs::Stat stat, file->stat());
  FdStat result;
  result.filetype = file_type(*file, stat);
  result.flags = fdflags_of(file->flags());
  result.rights_base = rights_of(*file, stat);
  result.rights_inheriting = rights_inherited(stat);
  return call.memory.write(out, result);
}

// The synchronous flags are taken as they are given at the open, as F_SETFL does.
Result<void> fd_fdstat_set_flags(Call& call, std::uint32_t fd, std::uint32_t fdflags)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.file(fd));
  if ((fdflags & ~fdflags_all) != 0) return Errno::inval;
  if ((file->flags() & o_path) != 0) return Errno::badf;
  constexpr std::uint32_t said_here = o_append | o_nonblock;
  file->set_status_flags((file->flags() & ~said_here) | (open_flags_of(fdflags) & said_here));
  return {};
}

// Rights may be given up, and grant nothing anyway (see rights_of), so giving up changes nothing.
// More than there is: EPERM.
Result<void> fd_fdstat_set_rights(Call& call, std::uint32_t fd, std::uint64_t base,
                                  std::uint64_t inheriting) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.file(fd));
  CLOCHE_ASSIGN(const vfs::Stat stat, file->stat());
  if ((base & ~rights_of(*file, stat)) != 0 || (inheriting & ~rights_inherited(stat)) != 0)
    return Errno::perm;
  return {};
}

Result<void> fd_filestat_get(Call& call, std::uint32_t fd, std::uint32_t out)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.file(fd));
  CLOCHE_ASSIGN(const vfs::Stat stat, file->stat());
  FileStat result = file_stat(stat);
  result.filetype = file_type(*file, stat);
  return call.memory.write(out, result);
}

Result<void> fd_filestat_set_size(Call& call, std::uint32_t fd, std::uint64_t size)
    REQUIRES(kernel_lock) {
  CLOCHE_TRY(call.file(fd));
  if (size > static_cast<std::uint64_t>(INT64_MAX)) return Errno::inval;
  return process_files::truncate(call.process, as_fd(fd), size);
}

Result<void> fd_filestat_set_times(Call& call, std::uint32_t fd, std::uint64_t atim_ns,
                                   std::uint64_t mtim_ns, std::uint32_t fstflags)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const vfs::Node node, process_files::node_of(call.process, as_fd(fd)));
  CLOCHE_ASSIGN(const TimeChanges changes, time_changes(atim_ns, mtim_ns, fstflags));
  return process_files::set_times(call.process, node, changes.atime, changes.mtime);
}

// Both must be open; `to` is closed and takes over the file of `from`, whose number is then free.
Result<void> fd_renumber(Call& call, std::uint32_t from, std::uint32_t to) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.file(from));
  CLOCHE_TRY(call.file(to));
  if (from == to) return {};
  CLOCHE_ASSIGN(const bool cloexec, call.process.fds.close_on_exec(as_fd(from)));
  CLOCHE_TRY(process_files::install_at(call.process, as_fd(to), file, cloexec ? o_cloexec : 0));
  // Not a close of the file: record locks stay with it.
  return call.process.fds.close(as_fd(from));
}

Result<void> fd_seek(Call& call, std::uint32_t fd, std::uint64_t offset, std::uint32_t whence,
                     std::uint32_t out) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.file(fd));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  if (whence > whence_end) return Errno::inval;
  CLOCHE_TRY(call.check_out<std::uint64_t>(out));
  CLOCHE_TRY(file->wait_for_position(call.task));
  CLOCHE_ASSIGN(const std::uint64_t position,
                file->seek(static_cast<std::int64_t>(offset), whence));
  return call.memory.write(out, position);
}

Result<void> fd_tell(Call& call, std::uint32_t fd, std::uint32_t out) REQUIRES(kernel_lock) {
  return fd_seek(call, fd, 0, whence_cur, out);
}

}  // namespace

Functions fd_calls() {
  return {function<"fd_advise", fd_advise>(),
          function<"fd_allocate", fd_allocate>(),
          function<"fd_close", fd_close>(),
          function<"fd_datasync", fd_sync>(),
          function<"fd_fdstat_get", fd_fdstat_get>(),
          function<"fd_fdstat_set_flags", fd_fdstat_set_flags>(),
          function<"fd_fdstat_set_rights", fd_fdstat_set_rights>(),
          function<"fd_filestat_get", fd_filestat_get>(),
          function<"fd_filestat_set_size", fd_filestat_set_size>(),
          function<"fd_filestat_set_times", fd_filestat_set_times>(),
          function<"fd_renumber", fd_renumber>(),
          function<"fd_seek", fd_seek>(),
          function<"fd_sync", fd_sync>(),
          function<"fd_tell", fd_tell>()};
}

}  // namespace cloche::kernel::wasi
