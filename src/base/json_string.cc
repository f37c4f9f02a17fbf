// SPDX-License-Identifier: Apache-2.0
#include "base/json_string.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace cloche {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";
constexpr std::string_view digits = "0123456789abcdef";

// What follows the backslash of an escape; 'u' for a control character without a letter of its own;
// 0 for a byte that stands as it is, and `wide` for one that is not ASCII.
constexpr char wide = 1;
constexpr auto escapes = [] {
  std::array<char, 256> table{};
  for (std::size_t i = 0; i < 0x20; ++i) table[i] = 'u';
  for (std::size_t i = 0x80; i < table.size(); ++i) table[i] = wide;
  table['"'] = '"';
  table['\\'] = '\\';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['\b'] = 'b';
  table['\f'] = 'f';
  return table;
}();

char escape_of(char c) { return escapes[static_cast<unsigned char>(c)]; }

}  // namespace

std::size_t append_json_text(std::string& to, std::string_view text, std::size_t at,
                             std::size_t most_bytes) {
  const std::size_t end = most_bytes < text.size() - at ? at + most_bytes : text.size();
  std::size_t plain = at;  // from here on it is as it is
  while (at < end) {
    const char escape = escape_of(text[at]);
    if (escape == 0) {
      ++at;
      continue;
    }
    if (escape == wide) {
      const Utf8Piece piece = utf8_piece(text, at);
      if (!piece.valid) {
        to.append(text, plain, at - plain).append(replacement);
        plain = at + piece.bytes;
      }
      at += piece.bytes;
      continue;
    }
    to.append(text, plain, at - plain);
    to += '\\';
    to += escape;
    if (escape == 'u') {
      const auto code = static_cast<unsigned char>(text[at]);
      to.append("00");
      to += digits[code >> 4];
      to += digits[code & 15];
    }
    plain = ++at;
  }
  to.append(text, plain, at - plain);
  return at;
}

std::size_t json_text_size(std::string_view text) {
  std::size_t size = text.size();
  for (std::size_t at = 0; at < text.size();) {
    const char escape = escape_of(text[at]);
    if (escape == wide) {
      const Utf8Piece piece = utf8_piece(text, at);
      if (!piece.valid) size += replacement.size() - piece.bytes;
      at += piece.bytes;
      continue;
    }
    if (escape != 0) size += escape == 'u' ? 5 : 1;
    ++at;
  }
  return size;
}

void append_json_string(std::string& to, std::string_view text) {
  to.reserve(to.size() + text.size() + 2);
  to += '"';
  append_json_text(to, text, 0, text.size());
  to += '"';
}

std::string json_string(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json;
}

}  // namespace cloche
