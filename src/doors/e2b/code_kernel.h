// SPDX-License-Identifier: Apache-2.0
// The languages of the code interpreter: what runs their cells in the sandbox, and how it is asked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::e2b {

enum class CodeLanguage : std::uint8_t { python, javascript, typescript, bash };

// By any name that clients use; nothing for an unknown one.
std::optional<CodeLanguage> code_language(std::string_view name);
std::string_view name_of(CodeLanguage language);

// What starts a kernel.
std::vector<std::string> kernel_command(CodeLanguage language);

// What a kernel reads: runs `code` with these variables. Neither has a NUL, and names are those
// that a shell knows.
std::string kernel_request(CodeLanguage language, const std::string& mark, const std::string& code,
                           const std::map<std::string, std::string>& environment);

}  // namespace cloche::e2b
