// SPDX-License-Identifier: Apache-2.0
// Reading all that a descriptor has, as far as a limit.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace cloche {

// From where it is to its end; EFBIG for more than `most_bytes`. For a descriptor that blocks.
Result<std::string> read_fully(int fd, std::size_t most_bytes);

}  // namespace cloche
