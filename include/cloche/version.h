// SPDX-License-Identifier: Apache-2.0
// The version of these headers, "MAJOR.MINOR.PATCH": what `cloche --version` of the same build
// says.
#pragma once

#include <string_view>

namespace cloche {

inline constexpr std::string_view version = "0.1.0";

}  // namespace cloche
