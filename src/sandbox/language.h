// SPDX-License-Identifier: Apache-2.0
// Language: what a client's code is written in, and the command that runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/sandbox.h"

namespace cloche::sandbox {

enum class Language : std::uint8_t { bash, python, javascript };

// "bash", "python", "javascript".
std::string_view language_name(Language language) noexcept;
std::optional<Language> language_named(std::string_view name) noexcept;

// For RunOptions::argv. JavaScript is node's where the system has it, otherwise qjs's; scripts are
// sh's where it has no bash. Python is the first one of $PATH, as images have it where they like.
std::vector<std::string> code_command(Sandbox& sandbox, Language language, std::string source);

}  // namespace cloche::sandbox
