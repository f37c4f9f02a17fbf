// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace cloche {
namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// The text without a number at its start, which goes to `value`; nothing where there is none.
template <typename Number>
std::optional<std::string_view> after_number(std::string_view text, Number& value) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return text.substr(static_cast<std::size_t>(end - text.data()));
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t value = 0;
  const auto rest = after_number(text, value);
  if (!rest) return std::nullopt;
  std::string unit;
  for (const char letter : *rest) unit += lower(letter);
  if (unit.empty() || unit == "b") return value;
  constexpr std::string_view letters = "kmgt";
  const std::size_t power = letters.find(unit.front());
  const std::string_view tail = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || (tail != "" && tail != "b" && tail != "ib"))
    return std::nullopt;
  const auto shift = 10 * (power + 1);
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text,
                                                        std::chrono::milliseconds unit) {
  struct Unit {
    std::string_view name;
    double ms;
  };
  constexpr std::array<Unit, 5> units{
      {{"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}, {"d", 86400e3}}};
  constexpr double most_ms = 100.0 * 366 * 86400e3;
  double value = 0;
  const auto rest = after_number(text, value);
  if (!rest) return std::nullopt;
  double factor = rest->empty() ? static_cast<double>(unit.count()) : 0;
  for (const Unit& known : units) {
    if (*rest == known.name) factor = known.ms;
  }
  const double ms = std::round(value * factor);
  if (factor == 0 || !(ms <= most_ms)) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(ms));
}

}  // namespace cloche
