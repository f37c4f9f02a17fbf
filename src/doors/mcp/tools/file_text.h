// SPDX-License-Identifier: Apache-2.0
// Texts of files for a model: lines with their numbers, a part that is replaced, what has changed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "doors/mcp/tool.h"

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

struct Edit {
  std::string text;
  std::size_t replacements = 0;
  std::string diff;            // unified, without a head
  std::size_t first_line = 0;  // where the first change is
};

// `old_text` replaced by `new_text`, once or wherever it is. In a file whose lines end in CR LF a
// text with other line ends is found too, and those of the file are kept. Throws ToolError: where
// it is not, or there more often than once.
enum class Replace : std::uint8_t { one, all };
Edit edit_text(const std::string& path, std::string_view text, std::string_view old_text,
               std::string_view new_text, Replace replace);

// Reads, edits and writes a file, whose mode stays. Throws ToolError.
Edit edit_file(Files& files, const std::string& path, std::string_view old_text,
               std::string_view new_text, Replace replace);

// The line that is most like `wanted`: its number, and itself.
struct NearestLine {
  std::size_t number = 0;  // 0: there is none that is like it
  std::string_view text;
};
NearestLine nearest_line(std::string_view text, std::string_view wanted);

}  // namespace cloche::mcp
