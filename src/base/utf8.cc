// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace cloche {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

}  // namespace

Utf8Piece utf8_piece(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {1, true};
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || byte(at + i) < low || byte(at + i) > high) return {i, false};
    low = 0x80;
    high = 0xbf;
  }
  return {length, true};
}

std::size_t ascii_run(std::string_view text, std::size_t at) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  std::size_t i = at;
  for (std::uint64_t word = 0; i + sizeof word <= text.size(); i += sizeof word) {
    std::memcpy(&word, text.data() + i, sizeof word);
    if ((word & high_bits) != 0) break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
  return i - at;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = ascii_run(text, 0); at < text.size();) {
    const Utf8Piece piece = utf8_piece(text, at);
    if (!piece.valid) return false;
    at += piece.bytes;
    at += ascii_run(text, at);
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string valid;
  valid.reserve(text.size() + text.size() / 8);
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Piece piece = utf8_piece(text, at);
    valid += piece.valid ? text.substr(at, piece.bytes) : replacement;
    at += piece.bytes;
  }
  return valid;
}

}  // namespace cloche
