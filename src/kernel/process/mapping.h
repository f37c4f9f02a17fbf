// SPDX-License-Identifier: Apache-2.0
// Shared mappings of files: a guest's pages are copies, so what it wrote goes to the file at msync,
// munmap and exit. That is the bytes that it has changed and no others: what somebody else has
// written there meanwhile stays.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "kernel/process/memory_map.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Task;

// What is in the memory at [start, start+length) now, to be known as a mapping's. ENOMEM where the
// sandbox may not have as much.
Result<std::shared_ptr<KnownContent>> known_content(Task& task, std::uint64_t start,
                                                    std::uint64_t length) REQUIRES(kernel_lock);

// Writes what is changed in the shared mappings of the task's process within [start, end) to their
// files, as far as the files reach. The first error, after which that mapping's rest is left.
Result<void> write_back_mappings(Task& task, std::uint64_t start, std::uint64_t end) noexcept
    REQUIRES(kernel_lock);

}  // namespace cloche::kernel
