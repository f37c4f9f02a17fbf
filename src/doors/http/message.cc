#include "doors/http/message.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cloche::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (lower(c) >= 'a' && lower(c) <= 'f') return static_cast<unsigned>(lower(c) - 'a') + 10;
  return std::nullopt;
}

// How many bytes from `at` on are one character (then `valid`), or one piece to be replaced: the
// longest start of a character that is there, or one byte.
struct Piece {
  std::size_t bytes;
  bool valid;
};

Piece next_piece(std::string_view text, std::size_t at) {
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

}  // namespace

std::string_view Request::field(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (same_text(key, name)) return value;
  }
  return {};
}

Response text_response(int status, std::string text) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(text)};
}

Response json_response(int status, std::string json) {
  return {status, {{"Content-Type", "application/json"}}, std::move(json)};
}

std::string percent_decode(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (high && low) {
        decoded += static_cast<char>(*high * 16 + *low);
        i += 2;
        continue;
      }
    }
    decoded += text[i] == '+' && plus == Plus::space ? ' ' : text[i];
  }
  return decoded;
}

std::vector<std::pair<std::string, std::string>> query_pairs(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    if (!pair.empty()) {
      const std::size_t equals = std::min(pair.find('='), pair.size());
      pairs.emplace_back(
          percent_decode(pair.substr(0, equals), Plus::space),
          percent_decode(pair.substr(std::min(equals + 1, pair.size())), Plus::space));
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return pairs;
}

bool same_text(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Piece piece = next_piece(text, at);
    if (!piece.valid) return false;
    at += piece.bytes;
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string valid;
  valid.reserve(text.size() + text.size() / 8);
  for (std::size_t at = 0; at < text.size();) {
    const Piece piece = next_piece(text, at);
    if (piece.valid) {
      valid += text.substr(at, piece.bytes);
    } else {
      valid += "\xef\xbf\xbd";
    }
    at += piece.bytes;
  }
  return valid;
}

}  // namespace cloche::http
