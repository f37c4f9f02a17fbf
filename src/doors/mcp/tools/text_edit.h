// SPDX-License-Identifier: Apache-2.0
// A part of a text that is replaced as a model asks for it, and what has changed by that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::mcp {

enum class Replace : std::uint8_t { one, all };

struct Edit {
  std::string text;
  std::size_t replacements = 0;
  std::string diff;            // unified, without a head
  std::size_t first_line = 0;  // where the first change is
};

// `old_text` replaced by `new_text`, once or wherever it is. In a file whose lines end in CR LF a
// text with other line ends is found too, and those of the file are kept. Throws ToolError: where
// it is not, or there more often than once.
Edit edit_text(const std::string& path, std::string_view text, std::string_view old_text,
               std::string_view new_text, Replace replace);

}  // namespace cloche::mcp
