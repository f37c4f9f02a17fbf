// SPDX-License-Identifier: Apache-2.0
// Shared mappings of files: a guest's pages are copies, so what it wrote goes to the file at msync,
// munmap and exit.
#pragma once

#include <cstdint>

#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Task;

// Writes the shared mappings of the task's process within [start, end) to their files, as far as
// the files reach. Kernel lock held.
void write_back_mappings(Task& task, std::uint64_t start, std::uint64_t end) noexcept
    REQUIRES(kernel_lock);

}  // namespace cloche::kernel
