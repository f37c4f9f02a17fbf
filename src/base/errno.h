// SPDX-License-Identifier: Apache-2.0
// The public header, for the layers.
#pragma once

#include <span>

#include "cloche/errno.h"  // IWYU pragma: export

namespace cloche {

// By number.
std::span<const ErrnoInfo> errno_table() noexcept;

}  // namespace cloche
