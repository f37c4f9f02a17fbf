// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "kernel/files/devices.h"
#include "kernel/files/fifo.h"
#include "kernel/files/node_file.h"
#include "kernel/kernel.h"
#include "kernel/proc/proc_fs.h"
#include "kernel/process/process_files.h"
#include "kernel/process/task.h"

namespace cloche::kernel::process_files {
namespace {

using vfs::FileType;
using vfs::Follow;

// What the open file description keeps of the flags.
constexpr std::uint32_t kept_flags(std::uint32_t flags) {
  return flags & ~(o_creat | o_excl | o_noctty | o_trunc | o_cloexec);
}

vfs::Access access_of(std::uint32_t flags) {
  switch (flags & o_accmode) {
    case o_rdonly: return vfs::Access::read;
    case o_wronly: return vfs::Access::write;
    default: return vfs::Access::read_write;
  }
}

bool is_tmpfile(std::uint32_t flags) { return (flags & o_tmpfile) == o_tmpfile; }

Result<FilePtr> open_content(Kernel& kernel, const vfs::Node& node, std::unique_ptr<vfs::NodeIo> io,
                             FileType type, std::uint32_t flags) {
  return FilePtr(std::make_shared<NodeFile>(kernel, node, std::move(io), type, kept_flags(flags)));
}

// A file that the caller has just made: its mode does not bind the process that made it.
Result<FilePtr> open_new(Kernel& kernel, const vfs::Node& node, std::uint32_t flags) {
  CLOCHE_ASSIGN(std::unique_ptr<vfs::NodeIo> io, node.fs().open(node.ino(), access_of(flags)));
  return open_content(kernel, node, std::move(io), FileType::regular, flags);
}

Result<FilePtr> open_unlinked(Task& task, const At& at, std::uint32_t flags, std::uint32_t mode)
    REQUIRES(kernel_lock) {
  if ((flags & o_accmode) == o_rdonly) return Errno::inval;
  Process& process = task.process();
  CLOCHE_ASSIGN(const vfs::Node dir, lookup(process, at, Follow::yes));
  CLOCHE_ASSIGN(const vfs::Node node, make_unlinked(process, dir, mode & ~process.umask));
  return open_new(task.kernel(), node, flags & ~o_tmpfile);
}

// A file without an inode of a file system, through its link in proc. What cannot be opened anew is
// shared: the same object, as long as the description at hand allows what is asked.
Result<FilePtr> open_again(Task& task, const FilePtr& file, std::uint32_t flags)
    REQUIRES(kernel_lock) {
  Result<FilePtr> again = file->reopen(task, kept_flags(flags));
  if (again || again.error() != Errno::nxio) return again;
  CLOCHE_ASSIGN(const vfs::Stat stat, file->stat());
  if (stat.type == FileType::socket) return Errno::nxio;
  const std::uint32_t wanted = flags & o_accmode;
  const bool allowed = wanted == o_rdonly   ? file->readable()
                       : wanted == o_wronly ? file->writable()
                                            : file->readable() && file->writable();
  if (!allowed) return Errno::acces;
  return FilePtr(file);
}

Result<FilePtr> open_regular(Task& task, const vfs::Node& node, const vfs::Stat& stat,
                             std::uint32_t flags) REQUIRES(kernel_lock) {
  const Process& process = task.process();
  if (stat.type == FileType::directory && access_of(flags) != vfs::Access::read)
    return Errno::isdir;
  if ((flags & o_trunc) != 0)
    CLOCHE_TRY(vfs::check_access(node, process.credentials, vfs::Access::write));
  if ((flags & o_noatime) != 0 && process.credentials.uid != stat.uid &&
      !process.credentials.is_root()) {
    return Errno::perm;
  }
  CLOCHE_ASSIGN(std::unique_ptr<vfs::NodeIo> io,
                vfs::open(node, access_of(flags), process.credentials));
  if ((flags & o_trunc) != 0 && stat.type == FileType::regular) {
    CLOCHE_TRY(vfs::truncate(node, 0, process.credentials));
  }
  return open_content(task.kernel(), node, std::move(io), stat.type, flags);
}

}  // namespace

Result<vfs::Node> make_unlinked(Process& process, const vfs::Node& dir, std::uint32_t mode) {
  CLOCHE_ASSIGN(const vfs::Stat stat, dir.stat());
  if (stat.type != FileType::directory) return Errno::notdir;
  const std::string name = fmt::format(".#unlinked-{}", process.kernel().next_file_id());
  CLOCHE_ASSIGN(vfs::Node node, vfs::create(dir, name, FileType::regular, mode & vfs::mode::all,
                                            process.credentials));
  CLOCHE_TRY(vfs::unlink(dir, name, process.credentials));
  return node;
}

Result<FilePtr> open_node(Task& task, const vfs::Node& node, std::uint32_t flags) {
  const FilePtr behind = proc_open_file(node);
  CLOCHE_ASSIGN(const vfs::Stat stat, node.stat());
  if ((flags & o_directory) != 0 && stat.type != FileType::directory) return Errno::notdir;
  if ((flags & o_path) != 0) {
    const std::uint32_t kept = flags & (o_path | o_directory | o_nofollow);
    return FilePtr(std::make_shared<NodeFile>(task.kernel(), node, nullptr, stat.type, kept));
  }
  if (behind) return open_again(task, behind, flags);
  switch (stat.type) {
    case FileType::regular:
    case FileType::directory: return open_regular(task, node, stat, flags);
    case FileType::symlink: return Errno::loop;
    case FileType::socket:
    case FileType::block: return Errno::nxio;
    case FileType::fifo:
      CLOCHE_TRY(vfs::check_access(stat, task.process().credentials, access_of(flags)));
      return task.kernel().fifos().open(task, node, kept_flags(flags));
    case FileType::character:
      CLOCHE_TRY(vfs::check_access(stat, task.process().credentials, access_of(flags)));
      return open_device(task, node, stat.rdev, flags);
  }
  return Errno::nxio;
}

Result<FilePtr> open(Task& task, const At& at, std::uint32_t flags, std::uint32_t mode) {
  Process& process = task.process();
  if ((flags & o_path) != 0) flags &= o_path | o_directory | o_nofollow | o_cloexec;
  if ((flags & o_accmode) == o_accmode) return Errno::inval;
  if (is_tmpfile(flags)) return open_unlinked(task, at, flags, mode);
  const bool creates = (flags & o_creat) != 0;
  if (creates && (flags & o_directory) != 0) return Errno::inval;

  const bool exclusive = creates && (flags & o_excl) != 0;
  const Follow follow = (flags & o_nofollow) != 0 || exclusive ? Follow::no : Follow::yes;
  CLOCHE_ASSIGN(const vfs::Resolved found, resolve(process, at, follow));
  if (found.target) {
    if (exclusive) return Errno::exist;
    if (creates) {
      CLOCHE_ASSIGN(const vfs::Stat stat, found.target->stat());
      if (stat.type == FileType::directory) return Errno::isdir;
    }
    // The link by which /proc/self/exe or a device is reached has been followed by now; what is
    // read of proc may still depend on who asks.
    return open_node(task, *found.target, flags);
  }
  if (!creates) return Errno::noent;
  if (found.trailing_slash) return Errno::isdir;
  CLOCHE_ASSIGN(const vfs::Node made,
                vfs::create(found.parent, found.name, FileType::regular,
                            mode & vfs::mode::all & ~process.umask, process.credentials));
  return open_new(task.kernel(), made, flags);
}

}  // namespace cloche::kernel::process_files
