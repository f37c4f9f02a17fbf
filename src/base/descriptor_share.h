// SPDX-License-Identifier: Apache-2.0
// What guests may hold of this process's descriptors, all of them together: three quarters, so that
// who serves still gets some.
#pragma once

#include "base/unique_fd.h"

namespace cloche {

// Whether one that was just opened is beyond that: the host gives the lowest number that is free.
bool is_beyond_guests_share(const UniqueFd& fd) noexcept;

}  // namespace cloche
