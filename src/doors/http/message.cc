// SPDX-License-Identifier: Apache-2.0
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

Response with_allow(Response refusal, std::string_view methods) {
  refusal.fields.emplace_back("Allow", methods);
  return refusal;
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

std::string quoted(std::string_view text) {
  std::string whole = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') whole += '\\';
    whole += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '_' : c;
  }
  return whole + "\"";
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

bool same_text(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace cloche::http
