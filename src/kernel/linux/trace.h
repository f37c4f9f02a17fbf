// SPDX-License-Identifier: Apache-2.0
// --trace-syscalls: one line per call, as strace writes it: `[pid] name(args) = result`.
#pragma once

#include "kernel/linux/call.h"

namespace cloche::kernel::lnx {

void trace_call(const Call& call, const Entry& entry, const SysResult& result);
void trace_unknown(const Task& task, std::uint32_t number);
void trace_clone(const Task& task, std::uint32_t function, std::uint32_t argument,
                 const Result<Pid>& result);

}  // namespace cloche::kernel::lnx
