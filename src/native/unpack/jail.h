// SPDX-License-Identifier: Apache-2.0
// A folder as the whole world of this process.
#pragma once

#include <cstdint>

namespace cloche::unpack {

// For good. Null, or what could not be done, with errno.
const char* enter_folder(int folder, std::uint64_t most_bytes);

}  // namespace cloche::unpack
