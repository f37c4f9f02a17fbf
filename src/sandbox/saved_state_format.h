// SPDX-License-Identifier: Apache-2.0
// The bytes of a part of a state: a line that says what it is, a line of JSON (environment,
// packages, and the kept shell (shell_text.h) where that is in it), a saved tree
// (vfs/saved_tree.h), the SHA-256 of all before it.
#pragma once

#include <string_view>

namespace cloche::sandbox {

inline constexpr std::string_view state_line = "cloche sandbox state 2\n";
inline constexpr std::string_view changes_line = "cloche sandbox changes 2\n";
// Of a sandbox of the linux engine: JSON (environment, image, digest, and how long what follows
// is), then a stream of its engine's. Every such part has everything.
inline constexpr std::string_view box_line = "cloche linux sandbox state 1\n";
// Of the release before: names of packages only, and a tar archive instead of the tree.
inline constexpr std::string_view old_state_line = "cloche sandbox state 1\n";

}  // namespace cloche::sandbox
