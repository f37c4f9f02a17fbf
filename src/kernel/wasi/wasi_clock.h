// SPDX-License-Identifier: Apache-2.0
// The clocks of WASI, for reading and for waiting.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernel/process/task.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel::wasi {

// What a clock shows: real time since 1970, monotonic time since the sandbox was made, CPU time of
// the process. EINVAL for an unknown id.
Result<std::uint64_t> clock_now_ns(const Task& task, std::uint32_t id) REQUIRES(kernel_lock);

}  // namespace cloche::kernel::wasi
