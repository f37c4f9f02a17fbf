// SPDX-License-Identifier: Apache-2.0
// What a file is, in WASI's words.
#pragma once

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/wasi/wasi_abi.h"
#include "vfs/checked_operations.h"

namespace cloche::kernel::wasi {

// A fifo or pipe is a stream socket: preview1 has no type for it, and wasi-libc gives S_IFIFO and
// S_IFSOCK the same value.
FileType file_type(vfs::FileType type);
// Of an open file: tells datagram sockets apart too, and what has no name and may have to wait
// (eventfd, timerfd and their like), which is unknown.
FileType file_type(const File& file, const vfs::Stat& stat);
FileStat file_stat(const vfs::Stat& stat);

// Rights say what kind of file a descriptor is and how it was opened, which libc reads from them:
// isatty looks for a character device that cannot seek, F_GETFL for read and write. They grant
// nothing: permissions do.
Rights rights_of(const File& file, const vfs::Stat& stat) REQUIRES(kernel_lock);
// What descriptors opened below it may have.
Rights rights_inherited(const vfs::Stat& stat);

// Between fdflags and O_*.
std::uint32_t open_flags_of(std::uint32_t fdflags);
std::uint16_t fdflags_of(std::uint32_t open_flags);

// The times of *_filestat_set_times; EINVAL for flags that contradict each other.
struct TimeChanges {
  vfs::TimeChange atime;
  vfs::TimeChange mtime;
};
Result<TimeChanges> time_changes(std::uint64_t atim_ns, std::uint64_t mtim_ns,
                                 std::uint32_t fstflags);

}  // namespace cloche::kernel::wasi
