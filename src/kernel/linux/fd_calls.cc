// SPDX-License-Identifier: Apache-2.0
// Opening, closing and duplicating descriptors, and what belongs to them: fcntl, flock, ioctl.
#include <algorithm>
#include <array>

#include "kernel/files/node_file.h"
#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/linux/call.h"
#include "kernel/linux/lock_argument.h"
#include "kernel/process/process_files.h"

namespace cloche::kernel::lnx {
namespace {

SysResult open_descriptor(Call& call, const process_files::At& at, std::uint32_t flags,
                          std::uint32_t mode) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(FilePtr file, process_files::open(call.task, at, flags, mode));
  CLOCHE_ASSIGN(const std::int32_t fd,
                call.process.fds.install(std::move(file), flags & o_cloexec));
  return fd;
}

SysResult openat(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::string path, call.path(1));
  return open_descriptor(call, {call.i32(0), path}, call.u32(2), call.u32(3));
}

struct OpenHow {
  std::uint64_t flags, mode, resolve;
};

// struct open_how may be larger than ours when what follows is zero.
Result<OpenHow> read_open_how(const Call& call) {
  const std::uint32_t address = call.u32(2), size = call.u32(3);
  if (size < sizeof(OpenHow)) return Errno::inval;
  if (size > page_bytes) return Errno::toobig;
  CLOCHE_ASSIGN(const auto bytes, call.memory.slice(address, size));
  const auto rest = bytes.subspan(sizeof(OpenHow));
  if (std::any_of(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; }))
    return Errno::toobig;
  return call.memory.read<OpenHow>(address);
}

SysResult openat2(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint64_t known_flags = o_accmode | o_creat | o_excl | o_noctty | o_trunc |
                                        o_append | o_nonblock | o_sync | o_async | o_direct |
                                        o_largefile | o_directory | o_nofollow | o_noatime |
                                        o_cloexec | o_path | o_tmpfile;
  constexpr std::uint64_t known_resolve = 0x3f, resolve_cached = 0x20;
  CLOCHE_ASSIGN(const OpenHow how, read_open_how(call));
  CLOCHE_ASSIGN(const std::string path, call.path(1));
  const auto flags = static_cast<std::uint32_t>(how.flags);
  if ((how.flags & ~known_flags) != 0 || (how.resolve & ~known_resolve) != 0) return Errno::inval;
  const bool creates = (flags & o_creat) != 0 || (flags & o_tmpfile) == o_tmpfile;
  if (how.mode > (creates ? std::uint64_t{vfs::mode::all} : 0)) return Errno::inval;
  if ((how.resolve & vfs::Resolve::beneath) != 0 && (how.resolve & vfs::Resolve::in_root) != 0)
    return Errno::inval;
  if ((how.resolve & resolve_cached) != 0) return Errno::again;
  return open_descriptor(call, {call.i32(0), path, static_cast<std::uint32_t>(how.resolve)}, flags,
                         static_cast<std::uint32_t>(how.mode));
}

SysResult close(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_TRY(process_files::close(call.process, call.i32(0)));
  return 0;
}

SysResult close_range(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t unshare = 2, cloexec = 4;
  const std::uint32_t first = call.u32(0), last = call.u32(1), flags = call.u32(2);
  if (first > last || (flags & ~(unshare | cloexec)) != 0) return Errno::inval;
  if ((flags & cloexec) != 0) {
    call.process.fds.set_close_on_exec_range(first, last);
  } else {
    process_files::close_range(call.process, first, last);
  }
  return 0;
}

SysResult dup(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(FilePtr file, call.process.fds.get(call.i32(0)));
  CLOCHE_ASSIGN(const std::int32_t fd, call.process.fds.install(std::move(file), 0));
  return fd;
}

SysResult dup3(Call& call) REQUIRES(kernel_lock) {
  if ((call.u32(2) & ~o_cloexec) != 0 || call.i32(0) == call.i32(1)) return Errno::inval;
  CLOCHE_ASSIGN(FilePtr file, call.process.fds.get(call.i32(0)));
  CLOCHE_TRY(process_files::install_at(call.process, call.i32(1), std::move(file), call.u32(2)));
  return call.i32(1);
}

// --- fcntl --------------------------------------------------------------------------------------

SysResult duplicate_from(Call& call, FilePtr file, std::uint32_t cloexec) REQUIRES(kernel_lock) {
  if (call.u32(2) >= call.process.fds.limit()) return Errno::inval;
  CLOCHE_ASSIGN(const std::int32_t fd,
                call.process.fds.install(std::move(file), cloexec, call.i32(2)));
  return fd;
}

SysResult pipe_size(const File& file) {
  const auto* pipe = dynamic_cast<const PipeFile*>(&file);
  if (pipe == nullptr) return Errno::badf;
  return static_cast<std::int64_t>(pipe->pipe()->capacity());
}

SysResult set_pipe_size(const File& file, std::uint32_t bytes) REQUIRES(kernel_lock) {
  const auto* pipe = dynamic_cast<const PipeFile*>(&file);
  if (pipe == nullptr) return Errno::badf;
  CLOCHE_ASSIGN(const std::uint32_t capacity, pipe->pipe()->set_capacity(bytes));
  return capacity;
}

SysResult add_seals(File& file, std::uint32_t seals) REQUIRES(kernel_lock) {
  auto* node_file = dynamic_cast<NodeFile*>(&file);
  if (node_file == nullptr) return Errno::inval;
  CLOCHE_TRY(node_file->add_seals(seals));
  return 0;
}

SysResult get_seals(const File& file) {
  const auto* node_file = dynamic_cast<const NodeFile*>(&file);
  if (node_file == nullptr || !node_file->is_memfd()) return Errno::inval;
  return node_file->seals();
}

namespace command {
constexpr std::uint32_t dupfd = 0, getfd = 1, setfd = 2, getfl = 3, setfl = 4, getown = 9,
                        getsig = 11, getlk = 12, setlk = 13, setlkw = 14, getown_ex = 16,
                        ofd_getlk = 36, ofd_setlk = 37, ofd_setlkw = 38, getlease = 1025,
                        dupfd_query = 1027, dupfd_cloexec = 1030, setpipe_sz = 1031,
                        getpipe_sz = 1032, add_seals = 1033, get_seals = 1034;
}  // namespace command

bool works_on_path_only(std::uint32_t which) {
  switch (which) {
    case command::dupfd:
    case command::dupfd_cloexec:
    case command::dupfd_query:
    case command::getfd:
    case command::setfd:
    case command::getfl: return true;
    default: return false;
  }
}

SysResult fcntl64(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t fd_cloexec = 1;
  const std::int32_t fd = call.i32(0);
  const std::uint32_t argument = call.u32(2);
  FdTable& fds = call.process.fds;
  CLOCHE_ASSIGN(const FilePtr file, fds.get(fd));
  if ((file->flags() & o_path) != 0 && !works_on_path_only(call.u32(1))) return Errno::badf;
  switch (call.u32(1)) {
    case command::dupfd: return duplicate_from(call, file, 0);
    case command::dupfd_cloexec: return duplicate_from(call, file, o_cloexec);
    case command::dupfd_query: {
      const auto other = fds.get(call.i32(2));
      if (!other) return other.error();
      return *other == file ? 1 : 0;
    }
    case command::getfd: {
      CLOCHE_ASSIGN(const bool closes, fds.close_on_exec(fd));
      return closes ? fd_cloexec : 0;
    }
    case command::setfd:
      CLOCHE_TRY(fds.set_close_on_exec(fd, (argument & fd_cloexec) != 0 ? o_cloexec : 0));
      return 0;
    case command::getfl: return file->flags();
    case command::setfl: file->set_status_flags(argument); return 0;
    case command::getlk: return get_lock(call, file, LockOwner::of_process(call.process.pid()));
    case command::setlk:
      return set_lock(call, file, LockOwner::of_process(call.process.pid()), LockWait::no);
    case command::setlkw:
      return set_lock(call, file, LockOwner::of_process(call.process.pid()), LockWait::yes);
    case command::ofd_getlk: return get_lock(call, file, LockOwner::of_description(file.get()));
    case command::ofd_setlk:
      return set_lock(call, file, LockOwner::of_description(file.get()), LockWait::no);
    case command::ofd_setlkw:
      return set_lock(call, file, LockOwner::of_description(file.get()), LockWait::yes);
    // No SIGIO is sent here, so nobody owns a descriptor; and there are no leases.
    case command::getown:
    case command::getsig: return 0;
    case command::getlease: return 2;  // F_UNLCK
    case command::getown_ex: {
      struct Owner {
        std::int32_t type, pid;
      };
      CLOCHE_TRY(call.memory.write(argument, Owner{1, 0}));
      return 0;
    }
    case command::setpipe_sz: return set_pipe_size(*file, argument);
    case command::getpipe_sz: return pipe_size(*file);
    case command::add_seals: return add_seals(*file, argument);
    case command::get_seals: return get_seals(*file);
    default: return Errno::inval;
  }
}

SysResult flock(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t shared = 1, exclusive = 2, nonblocking = 4, unlock = 8;
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  const auto* inode = dynamic_cast<const InodeFile*>(file.get());
  if (inode == nullptr) return Errno::inval;
  const LockOwner owner = LockOwner::of_flock(file.get());
  FileLocks& locks = call.kernel.locks();
  const std::uint32_t operation = call.u32(1) & ~nonblocking;
  if (operation == unlock) {
    CLOCHE_TRY(locks.unlock(inode->lock_key(), owner));
    return 0;
  }
  if (operation != shared && operation != exclusive) return Errno::inval;
  const FileLock wanted{owner, operation == shared ? LockType::shared : LockType::exclusive, {}};
  CLOCHE_TRY((call.u32(1) & nonblocking) != 0 ? locks.try_lock(inode->lock_key(), wanted)
                                              : locks.lock(call.task, inode->lock_key(), wanted));
  return 0;
}

SysResult ioctl(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t fionclex = 0x5450, fioclex = 0x5451, fionbio = 0x5421, fioasync = 0x5452;
  const std::int32_t fd = call.i32(0);
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(fd));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  switch (call.u32(1)) {
    case fioclex: CLOCHE_TRY(call.process.fds.set_close_on_exec(fd, o_cloexec)); return 0;
    case fionclex: CLOCHE_TRY(call.process.fds.set_close_on_exec(fd, 0)); return 0;
    case fionbio:
    case fioasync: {
      const std::uint32_t flag = call.u32(1) == fionbio ? o_nonblock : o_async;
      CLOCHE_ASSIGN(const std::int32_t on, call.memory.read<std::int32_t>(call.u32(2)));
      file->set_status_flags(on != 0 ? file->flags() | flag : file->flags() & ~flag);
      return 0;
    }
    default: {
      CLOCHE_ASSIGN(const std::int32_t result,
                    file->ioctl(call.task, call.memory, call.u32(1), call.u32(2)));
      return result;
    }
  }
}

SysResult memfd_create(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t cloexec = 1, allow_sealing = 2, noexec_seal = 8, exec = 16;
  constexpr std::size_t name_most = 249;
  const std::uint32_t flags = call.u32(1);
  if ((flags & ~(cloexec | allow_sealing | noexec_seal | exec)) != 0) return Errno::inval;
  auto name = call.memory.read_string(call.u32(0), name_most);
  if (!name) return name.error() == Errno::nametoolong ? Errno::inval : name.error();
  CLOCHE_ASSIGN(
      const vfs::Node dir,
      process_files::lookup(call.process, {process_files::at_fdcwd, "/tmp"}, vfs::Follow::yes));
  const std::uint32_t mode = (flags & noexec_seal) != 0 ? 0666 : 0777;
  CLOCHE_ASSIGN(const vfs::Node node, process_files::make_unlinked(call.process, dir, mode));
  CLOCHE_ASSIGN(std::unique_ptr<vfs::NodeIo> io,
                node.fs().open(node.ino(), vfs::Access::read_write));
  auto file = std::make_shared<NodeFile>(call.kernel, node, std::move(io), vfs::FileType::regular,
                                         o_rdwr | o_largefile);
  const bool sealable = (flags & (allow_sealing | noexec_seal)) != 0;
  file->become_memfd(*std::move(name),
                     (sealable ? 0 : seal_seal) | ((flags & noexec_seal) != 0 ? seal_exec : 0));
  CLOCHE_ASSIGN(const std::int32_t fd,
                call.process.fds.install(std::move(file), (flags & cloexec) != 0 ? o_cloexec : 0));
  return fd;
}

constexpr auto fd_entries = std::to_array<Entry>({
    {23, "dup", 1, dup},
    {24, "dup3", 3, dup3},
    {25, "fcntl64", 3, fcntl64, Support::partial,
     "no SIGIO owner, no leases, no file notification"},
    {29, "ioctl", 3, ioctl},
    {32, "flock", 2, flock},
    {56, "openat", 4, openat},
    {57, "close", 1, close},
    {279, "memfd_create", 2, memfd_create},
    {436, "close_range", 3, close_range},
    {437, "openat2", 4, openat2},
});

}  // namespace

std::span<const Entry> fd_calls() { return fd_entries; }

}  // namespace cloche::kernel::lnx
