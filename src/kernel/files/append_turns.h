// SPDX-License-Identifier: Apache-2.0
// AppendTurns: files to which somebody appends in turns (process/turns.h). Who appends to one of
// them waits until that is done, as each append is one piece.
#pragma once

#include <set>

#include "kernel/files/file_locks.h"
#include "kernel/time/wait_queue.h"

namespace cloche::kernel {

struct AppendTurns {
  std::set<LockKey> taken;
  WaitQueue changed;  // woken when there is one less
};

}  // namespace cloche::kernel
