// SPDX-License-Identifier: Apache-2.0
// Comparing what must stay secret: the time it takes does not tell where two texts differ.
#pragma once

#include <string_view>

namespace cloche {

// Nor does it tell whether their lengths do.
bool is_same_secret(std::string_view a, std::string_view b);

// Of bytes whose number is no secret, such as digests.
bool is_same_digest(std::string_view a, std::string_view b);

}  // namespace cloche
