// SPDX-License-Identifier: Apache-2.0
#include "base/json_members.h"

#include <fmt/format.h>

#include <cmath>

#include "base/base64.h"
#include "base/error.h"
#include "base/units.h"

namespace cloche {

WrongMember JsonMembers::wrong(const char* name, std::string_view wanted) const {
  return WrongMember(fmt::format("'{}{}' must be {}", place_, name, wanted));
}

WrongMember JsonMembers::missing(const char* name) const {
  return WrongMember(fmt::format("'{}{}' is missing", place_, name));
}

const std::string& JsonMembers::string_of(const Json& value, const char* name) const {
  if (!value.is_string()) throw wrong(name, "a string");
  return value.get_ref<const std::string&>();
}

const std::string& JsonMembers::word_of(const Json& value, const char* name) const {
  const std::string& word = string_of(value, name);
  if (word.find('\0') != std::string::npos) {
    throw request_error(
        fmt::format("'{}{}' holds a NUL character, which ends a string there", place_, name));
  }
  return word;
}

const Json* JsonMembers::find(const char* name) const {
  if (!value_.is_object()) return nullptr;
  const auto found = value_.find(name);
  return found == value_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> JsonMembers::optional_word(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return word_of(*value, name);
}

std::string JsonMembers::word(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) throw missing(name);
  return word_of(*value, name);
}

std::optional<std::string> JsonMembers::optional_text(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return string_of(*value, name);
}

std::string JsonMembers::text(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) throw missing(name);
  return string_of(*value, name);
}

std::string JsonMembers::bytes(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) throw missing(name);
  std::optional<std::string> bytes = from_base64(string_of(*value, name));
  if (!bytes) throw wrong(name, "base64");
  return *std::move(bytes);
}

bool JsonMembers::flag(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) throw wrong(name, "true or false");
  return value->get<bool>();
}

WrongMember JsonMembers::out_of_range(const char* name, Amounts range,
                                      std::string_view unit) const {
  if (range.most == UINT64_MAX)
    return wrong(name, fmt::format("a number{} that is {} or more, below 2^64", unit, range.least));
  return wrong(name, fmt::format("a number{} from {} to {}", unit, range.least, range.most));
}

std::optional<std::uint64_t> JsonMembers::number(const char* name, Amounts range,
                                                 std::string_view unit) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) throw wrong(name, "a number");
  constexpr double beyond = 18446744073709551616.0;
  std::uint64_t whole = 0;
  if (value->is_number_unsigned()) {
    whole = value->get<std::uint64_t>();
  } else {
    const double given = value->get<double>();
    const double rounded = std::ceil(given);
    if (given < 0 || !(rounded < beyond)) throw out_of_range(name, range, unit);
    whole = static_cast<std::uint64_t>(rounded);
  }
  if (whole < range.least || whole > range.most) throw out_of_range(name, range, unit);
  return whole;
}

std::optional<std::uint64_t> JsonMembers::optional_count(const char* name, Amounts range) const {
  return number(name, range, "");
}

std::optional<std::uint64_t> JsonMembers::optional_bytes(const char* name, Amounts range) const {
  const Json* value = find(name);
  if (value == nullptr || !value->is_string()) return number(name, range, " of bytes");
  const auto bytes = parse_bytes(value->get_ref<const std::string&>());
  if (!bytes) throw wrong(name, "a number of bytes, or a text such as \"512m\"");
  if (*bytes < range.least || *bytes > range.most) throw out_of_range(name, range, " of bytes");
  return bytes;
}

std::optional<std::chrono::milliseconds> JsonMembers::optional_ms(const char* name,
                                                                  Amounts range) const {
  const Json* value = find(name);
  if (value != nullptr && value->is_string()) {
    const auto time =
        parse_duration(value->get_ref<const std::string&>(), std::chrono::milliseconds(1));
    if (!time) throw wrong(name, "milliseconds, or a text such as \"30s\"");
    const auto ms = static_cast<std::uint64_t>(time->count());
    if (ms < range.least || ms > range.most) throw out_of_range(name, range, " of milliseconds");
    return time;
  }
  const auto ms = number(name, range, " of milliseconds");
  if (!ms) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(*ms));
}

std::vector<std::string> JsonMembers::words(const char* name) const {
  const Json* value = find(name);
  std::vector<std::string> words;
  if (value == nullptr) return words;
  if (!value->is_array()) throw wrong(name, "an array of strings");
  for (const Json& item : *value) {
    if (!item.is_string()) throw wrong(name, "an array of strings");
    words.push_back(word_of(item, name));
  }
  return words;
}

std::map<std::string, std::string> JsonMembers::word_map(const char* name) const {
  const Json* value = find(name);
  std::map<std::string, std::string> map;
  if (value == nullptr) return map;
  if (!value->is_object()) throw wrong(name, "an object of strings");
  for (const auto& [key, item] : value->items()) {
    if (key.find('\0') != std::string::npos) throw wrong(name, "an object with names without NUL");
    if (!item.is_string()) throw wrong(name, "an object of strings");
    map.emplace(key, word_of(item, name));
  }
  return map;
}

std::vector<Json> JsonMembers::objects(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_array()) throw wrong(name, "an array of objects");
  for (const Json& item : *value) {
    if (!item.is_object()) throw wrong(name, "an array of objects");
  }
  return value->get<std::vector<Json>>();
}

}  // namespace cloche
