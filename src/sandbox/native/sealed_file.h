// SPDX-License-Identifier: Apache-2.0
// A file in memory that a guest may have: read-only for good, for what a guest could add to it
// would count for nobody.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cloche::sandbox {

enum class FileUse : std::uint8_t { read, execute };

Result<UniqueFd> make_sealed_file(std::string_view content, FileUse use = FileUse::read);
// Of a file that nothing has mapped for writing; at its beginning.
Result<void> seal(const UniqueFd& file);

}  // namespace cloche::sandbox
