// SPDX-License-Identifier: Apache-2.0
// Texts of files for a model: lines with their numbers, and a part that is replaced.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "doors/mcp/tool.h"
#include "doors/mcp/tools/text_edit.h"

namespace cloche::mcp {

// What is not absolute is from /workspace.
std::string absolute_path(std::string_view path);

struct NumberedLines {
  std::string text;  // "     1\tline"
  std::uint64_t count = 0;
  std::uint64_t next = 1;  // the line behind them
  bool has_more = false;
};

// From line `first` on, `most` at most, and no more than a model takes. Throws ToolError.
NumberedLines numbered_lines(const Files& files, const std::string& path, std::uint64_t first,
                             std::uint64_t most);

// Reads, edits and writes a file, whose mode stays. Throws ToolError.
Edit edit_file(Files& files, const std::string& path, std::string_view old_text,
               std::string_view new_text, Replace replace);

}  // namespace cloche::mcp
