// SPDX-License-Identifier: Apache-2.0
// struct flock: fcntl's record locks as a guest writes them.
#pragma once

#include "kernel/files/file_locks.h"
#include "kernel/linux/call.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel::lnx {

enum class LockWait { no, yes };

// F_SETLK and its kin: the struct flock is at call.u32(2).
SysResult set_lock(Call& call, const FilePtr& file, const LockOwner& owner, LockWait wait)
    REQUIRES(kernel_lock);
// F_GETLK: the lock in the way, or F_UNLCK.
SysResult get_lock(Call& call, const FilePtr& file, const LockOwner& owner) REQUIRES(kernel_lock);

}  // namespace cloche::kernel::lnx
