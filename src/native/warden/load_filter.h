// SPDX-License-Identifier: Apache-2.0
// Puts a filter of system calls before the calling thread. The kernel turns it into machine code,
// in memory that it may lack for a moment, where many begin to run at once: it is asked again then,
// for some tenths of a second.
#pragma once

#include <linux/filter.h>

namespace cloche::warden {

// As seccomp(2) with SECCOMP_SET_MODE_FILTER: a descriptor where `flags` want one, or 0; -1 with
// errno.
int load_filter(const sock_fprog& program, unsigned long flags = 0) noexcept;

}  // namespace cloche::warden
