// SPDX-License-Identifier: Apache-2.0
// Who a box is on the host: the user that runs Cloche, or where that is root, one that is nobody
// else: of the numbers that neither people nor containers are given.
#pragma once

#include <sys/types.h>

namespace cloche::warden {

inline constexpr uid_t box_user = 1'900'000'000;

// For a process that root has started. False with errno.
bool become_nobody() noexcept;

}  // namespace cloche::warden
