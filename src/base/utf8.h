// SPDX-License-Identifier: Apache-2.0
// UTF-8 of anybody: which part of it is text, and how the rest is replaced.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cloche {

// A character, or a piece of what is none: the longest start of a character that is there, or one
// byte. Python's `replace` cuts the same pieces.
struct Utf8Piece {
  std::size_t bytes;
  bool valid;
};

// The one at `at`, which is before the end.
Utf8Piece utf8_piece(std::string_view text, std::size_t at);

// How many bytes from `at` on are ASCII.
std::size_t ascii_run(std::string_view text, std::size_t at);

bool is_utf8(std::string_view text);

// The text with U+FFFD in the place of every piece that is no character.
std::string valid_utf8(std::string_view text);

}  // namespace cloche
