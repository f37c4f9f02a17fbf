// SPDX-License-Identifier: Apache-2.0
// The program of src/native/caller, as the file that it is.
#pragma once

#include <string_view>

namespace cloche::sandbox {

std::string_view caller_program() noexcept;

}  // namespace cloche::sandbox
