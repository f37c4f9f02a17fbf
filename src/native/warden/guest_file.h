// SPDX-License-Identifier: Apache-2.0
// A file that a guest has open, for a moment pid 1's as well.
#pragma once

#include <sys/types.h>

#include "native/warden/fd.h"

namespace cloche::warden {

// None, with errno: it has it not, or may not be looked into.
Fd guest_file(pid_t thread, int number) noexcept;

// The guest may have closed it meanwhile, and have told its last close to wait.
void leave_guest_file(Fd& file) noexcept;

}  // namespace cloche::warden
