// SPDX-License-Identifier: Apache-2.0
// What concerns the machine as a whole (modules, clocks, swap, other kernels, programs for the
// kernel, files by their handles) is called by none of what makes boxes,
// of root's too, and by nobody in a box: a filter of system calls says so for all of them, from the
// first of these processes on. The filter that programs of a box have (filter.h) comes beside it.
#pragma once

namespace cloche::warden {

// For this process and what it starts, which get no_new_privs. Such a call is EPERM then. False
// with errno where the kernel takes no filter.
bool leave_the_machine_alone() noexcept;

}  // namespace cloche::warden
