// SPDX-License-Identifier: Apache-2.0
// next_piece: an input that is more than one thing, one after another.
#pragma once

#include <algorithm>
#include <string_view>

namespace cloche::fuzz {

// What is before the next `end`, or all of it; and takes both from the front of `text`.
inline std::string_view next_piece(std::string_view& text, std::string_view end = "\n") {
  const std::string_view piece = text.substr(0, text.find(end));
  text.remove_prefix(std::min(piece.size() + end.size(), text.size()));
  return piece;
}

}  // namespace cloche::fuzz
