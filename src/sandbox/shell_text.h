// SPDX-License-Identifier: Apache-2.0
// ShellText: what a kept shell is, as a script that bash itself has written: so that it outlives
// the process, and other builds of bash can go on from it.
//
// Variables with their attributes, functions, aliases, options, traps, positional parameters,
// umask, limits and the directory are in it; jobs, $?, niceness, history and descriptors are not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cloche::sandbox {

struct ShellText {
  // What the shell was given of the sandbox's environment.
  std::map<std::string, std::string> environment;
  std::string script;  // any bytes but 0
};

inline constexpr std::uint64_t shell_text_max_bytes = std::uint64_t{4} << 20;

// To be run in a shell between two turns, of which it leaves nothing as it was: prints the script.
// Its last line is shell_text_end: what has no such line is not all.
extern const char* const write_shell_text;
inline constexpr std::string_view shell_text_end = "# end\n";

Json to_json(const ShellText& text);
// Nothing for what is none.
std::optional<ShellText> shell_text_of(const Json& json);

}  // namespace cloche::sandbox
