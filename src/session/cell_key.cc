// SPDX-License-Identifier: Apache-2.0
#include "session/cell_key.h"

#include <fmt/format.h>

#include <charconv>

#include "base/random.h"

namespace cloche::session {
namespace {

constexpr std::string_view shape = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
constexpr std::size_t key_digits = 4;

bool fits(char c, char place) {
  switch (place) {
    case 'x': return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    case 'y': return c == '8' || c == '9' || c == 'a' || c == 'b';
    default: return c == place;
  }
}

}  // namespace

std::string new_session_id(CellKey cell) {
  std::string id = random_uuid();
  if (cell != 0) id.replace(id.size() - key_digits, key_digits, fmt::format("{:04x}", cell));
  return id;
}

std::optional<CellKey> cell_of(std::string_view session_id) {
  if (session_id.size() != shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!fits(session_id[i], shape[i])) return std::nullopt;
  }
  CellKey cell = 0;
  const std::string_view digits = session_id.substr(shape.size() - key_digits);
  std::from_chars(digits.data(), digits.data() + digits.size(), cell, 16);
  return cell == 0 ? std::nullopt : std::optional(cell);
}

}  // namespace cloche::session
