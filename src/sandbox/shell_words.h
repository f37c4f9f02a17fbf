// SPDX-License-Identifier: Apache-2.0
// The words that the sandbox's shell takes itself, before it looks for a program: its builtins and
// reserved words.
#pragma once

#include <string_view>

namespace cloche::sandbox {

bool is_shell_word(std::string_view word);

}  // namespace cloche::sandbox
