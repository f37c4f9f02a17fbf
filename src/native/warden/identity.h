// SPDX-License-Identifier: Apache-2.0
// Who a box is on the host: the user that runs Cloche, or where that is root, one that is nobody
// else: of the numbers that neither people nor containers are given.
#pragma once

#include <sys/types.h>

namespace cloche::warden {

inline constexpr uid_t box_user = 1'900'000'000;

// For a process that root has started. False with errno.
bool become_nobody() noexcept;

// In a user namespace that is new: this user and this group outside are those inside, and nobody
// else is anybody. False with errno.
bool map_identity(uid_t user, gid_t group, uid_t outer_user, gid_t outer_group) noexcept;

}  // namespace cloche::warden
