// SPDX-License-Identifier: Apache-2.0
// Matching of one name against one pattern, as the shell does it in the C locale: bytes, no
// collation.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace cloche::vfs {

// '*' any bytes, '?' one, '[a-z]' a set ('!' or '^' first: not in it), '\' the next one as it is.
// Linear in pattern x name, whatever the pattern.
bool glob_match(std::string_view pattern, std::string_view name);
bool has_wildcard(std::string_view pattern);
// The parts between slashes, empty ones left out.
std::vector<std::string_view> split_pattern(std::string_view pattern);

// Entries that one search for a pattern looks at: nothing else ends it.
inline constexpr std::size_t glob_looks_max = 2'000'000;

}  // namespace cloche::vfs
