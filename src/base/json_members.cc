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

std::optional<std::uint64_t> JsonMembers::optional_count(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  if (!value->is_number()) throw wrong(name, "a number");
  const double number = std::ceil(value->get<double>());
  if (number < 0) throw wrong(name, "a number that is not negative");
  constexpr double beyond = 18446744073709551616.0;
  return number >= beyond ? UINT64_MAX : static_cast<std::uint64_t>(number);
}

std::optional<std::uint64_t> JsonMembers::optional_bytes(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr || !value->is_string()) return optional_count(name);
  const auto bytes = parse_bytes(value->get_ref<const std::string&>());
  if (!bytes) throw wrong(name, "a number of bytes, or a text such as \"512m\"");
  return bytes;
}

std::optional<std::chrono::milliseconds> JsonMembers::optional_ms(const char* name) const {
  // Ten years: a deadline stays within the clock's range.
  constexpr std::chrono::milliseconds most = std::chrono::hours(24 * 365 * 10);
  const Json* value = find(name);
  if (value != nullptr && value->is_string()) {
    const auto time =
        parse_duration(value->get_ref<const std::string&>(), std::chrono::milliseconds(1));
    if (!time) throw wrong(name, "milliseconds, or a text such as \"30s\"");
    return std::min(*time, most);
  }
  const std::optional<std::uint64_t> count = optional_count(name);
  if (!count) return std::nullopt;
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(std::min<std::uint64_t>(*count, most.count())));
}

std::vector<std::string> JsonMembers::words(const char* name) const {
  const Json* value = find(name);
  std::vector<std::string> words;
  if (value == nullptr) return words;
  if (!value->is_array()) throw wrong(name, "an array of strings");
  for (const Json& item : *value) words.push_back(word_of(item, name));
  return words;
}

std::map<std::string, std::string> JsonMembers::word_map(const char* name) const {
  const Json* value = find(name);
  std::map<std::string, std::string> map;
  if (value == nullptr) return map;
  if (!value->is_object()) throw wrong(name, "an object of strings");
  for (const auto& [key, item] : value->items()) {
    if (key.find('\0') != std::string::npos) throw wrong(name, "an object with names without NUL");
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
