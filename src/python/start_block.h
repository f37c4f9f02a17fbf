// SPDX-License-Identifier: Apache-2.0
// The frames that the host gives the interpreter's `turn` (frames.h);
// userland/python/lib/_cloche/image/start.py reads them.
#pragma once

#include <string>
#include <string_view>

#include "kernel/process/process.h"
#include "kernel/time/kernel_lock.h"
#include "python/frames.h"

namespace cloche::python {

// A frame with the process's numbers, names, argv and environment. Kernel lock held.
std::string start_block(Turn turn, const kernel::Process& process, std::string_view host_name)
    REQUIRES(kernel::kernel_lock);
// A frame with source text.
std::string code_frame(Turn turn, std::string_view source);

}  // namespace cloche::python
