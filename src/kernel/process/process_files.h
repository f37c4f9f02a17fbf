// SPDX-License-Identifier: Apache-2.0
// File operations of a process: what both system-call interfaces, exec and spawn do with paths and
// descriptors.
//
// Paths are walked through the kernel's Namespace with the credentials of the process, and its
// umask where something is made. Errors are those of the Linux calls of the same names. Kernel lock
// held; only open() may sleep (a fifo waits for its other end).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/process/process.h"
#include "kernel/time/kernel_lock.h"
#include "vfs/checked_operations.h"
#include "vfs/namespace.h"

namespace cloche::kernel {
class Task;
}

namespace cloche::kernel::process_files {

inline constexpr std::int32_t at_fdcwd = -100;

// A path and where a relative one starts. `restrictions`: vfs::Resolve, for openat2 and for WASI
// (beneath).
struct At {
  std::int32_t dirfd = at_fdcwd;
  std::string_view path;
  std::uint32_t restrictions = 0;
};

// Whether "" means the descriptor itself (AT_EMPTY_PATH), or is ENOENT.
enum class Empty { refused, descriptor };

// For as long as it lives /proc/self is that process. Every walk of a path on behalf of a process
// is made under one; the functions below do it themselves. Never held over a sleep.
class Acting {
 public:
  explicit Acting(const Process& process) noexcept;
  ~Acting();
  Acting(const Acting&) = delete;
  Acting& operator=(const Acting&) = delete;

 private:
  Kernel& kernel_;
  const Process* outer_;
};

// --- Paths to nodes -----------------------------------------------------------------------------

// The directory where a walk starts: EBADF, ENOTDIR. For an absolute path the root, whatever the
// descriptor is.
Result<vfs::Node> start_of(Process& process, const At& at) REQUIRES(kernel_lock);
Result<vfs::Resolved> resolve(Process& process, const At& at, vfs::Follow follow)
    REQUIRES(kernel_lock);
// An existing node. With Empty::descriptor and an empty path the node of the descriptor (EBADF when
// it has none).
Result<vfs::Node> lookup(Process& process, const At& at, vfs::Follow follow,
                         Empty empty = Empty::refused) REQUIRES(kernel_lock);
// The absolute path of a node, as getcwd and /proc show it.
Result<std::string> path_of(Process& process, const vfs::Node& node) REQUIRES(kernel_lock);

// --- Opening and descriptors --------------------------------------------------------------------

// `flags`: O_*, `mode` of a new file before the umask.
Result<FilePtr> open(Task& task, const At& at, std::uint32_t flags, std::uint32_t mode)
    REQUIRES(kernel_lock);
// Opens what a walk has found: a file or directory, a device, a fifo, a terminal, what
// /proc/<pid>/fd/N stands for.
Result<FilePtr> open_node(Task& task, const vfs::Node& node, std::uint32_t flags)
    REQUIRES(kernel_lock);
// A file without a name, for memfd_create and O_TMPFILE; in the directory's file system.
Result<vfs::Node> make_unlinked(Process& process, const vfs::Node& dir, std::uint32_t mode)
    REQUIRES(kernel_lock);

// Closing gives up the record locks that the process has on the file, as POSIX wants it.
Result<void> close(Process& process, std::int32_t fd) REQUIRES(kernel_lock);
void close_range(Process& process, std::uint32_t first, std::uint32_t last) REQUIRES(kernel_lock);
void close_for_exec(Process& process) REQUIRES(kernel_lock);
// dup2's way: what was at `fd` is closed. `flags`: O_CLOEXEC or 0.
Result<void> install_at(Process& process, std::int32_t fd, FilePtr file, std::uint32_t flags)
    REQUIRES(kernel_lock);

// --- The tree -----------------------------------------------------------------------------------

Result<void> make_directory(Process& process, const At& at, std::uint32_t mode)
    REQUIRES(kernel_lock);
// mknodat: a regular file, a fifo or a socket's name; devices are EPERM. `mode` with S_IFMT bits.
Result<void> make_node(Process& process, const At& at, std::uint32_t mode) REQUIRES(kernel_lock);
// The same for a type, giving the node (bind of a unix socket). EEXIST.
Result<vfs::Node> make_node(Process& process, const At& at, vfs::FileType type, std::uint32_t mode)
    REQUIRES(kernel_lock);
Result<void> make_symlink(Process& process, std::string_view target, const At& at)
    REQUIRES(kernel_lock);
Result<void> link(Process& process, const At& existing, const At& name, vfs::Follow follow,
                  Empty empty = Empty::refused) REQUIRES(kernel_lock);
Result<void> unlink(Process& process, const At& at) REQUIRES(kernel_lock);
Result<void> remove_directory(Process& process, const At& at) REQUIRES(kernel_lock);
Result<void> rename(Process& process, const At& from, const At& to, vfs::RenameMode mode)
    REQUIRES(kernel_lock);
// With Empty::descriptor and an empty path the link that an O_PATH descriptor holds.
Result<std::string> read_link(Process& process, const At& at) REQUIRES(kernel_lock);

Result<void> change_directory(Process& process, const At& at) REQUIRES(kernel_lock);
Result<void> change_directory(Process& process, std::int32_t fd) REQUIRES(kernel_lock);
Result<std::string> current_directory(Process& process) REQUIRES(kernel_lock);

// --- Attributes ---------------------------------------------------------------------------------

Result<vfs::Stat> stat(Process& process, const At& at, vfs::Follow follow,
                       Empty empty = Empty::refused) REQUIRES(kernel_lock);
Result<vfs::Stat> stat(Process& process, std::int32_t fd) REQUIRES(kernel_lock);
// access(2): `wanted` is none for F_OK.
Result<void> access(Process& process, const At& at, vfs::Access wanted, vfs::Follow follow,
                    Empty empty = Empty::refused) REQUIRES(kernel_lock);
Result<void> change_mode(Process& process, const vfs::Node& node, std::uint32_t mode)
    REQUIRES(kernel_lock);
// ~0 leaves an id as it is.
Result<void> change_owner(Process& process, const vfs::Node& node, std::uint32_t uid,
                          std::uint32_t gid) REQUIRES(kernel_lock);
Result<void> set_times(Process& process, const vfs::Node& node, const vfs::TimeChange& atime,
                       const vfs::TimeChange& mtime) REQUIRES(kernel_lock);
// By path: the right to write is checked; RLIMIT_FSIZE holds (SIGXFSZ and EFBIG).
Result<void> truncate(Process& process, const At& at, std::uint64_t size) REQUIRES(kernel_lock);
// By descriptor: it must be open for writing (EINVAL), whatever the mode bits say now.
Result<void> truncate(Process& process, std::int32_t fd, std::uint64_t size) REQUIRES(kernel_lock);
// The inode of a descriptor: EBADF for an O_PATH one where that is not allowed, and for what has no
// inode.
enum class PathOnly { refused, allowed };
Result<vfs::Node> node_of(Process& process, std::int32_t fd, PathOnly path_only = PathOnly::refused)
    REQUIRES(kernel_lock);

// --- Limits -------------------------------------------------------------------------------------

// How many of `size` bytes may be written at `offset` under RLIMIT_FSIZE; SIGXFSZ and EFBIG when
// there is room for none.
Result<std::uint64_t> within_file_limit(Process& process, std::uint64_t offset, std::uint64_t size)
    REQUIRES(kernel_lock);

}  // namespace cloche::kernel::process_files
