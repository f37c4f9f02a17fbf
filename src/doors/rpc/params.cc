// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/params.h"

#include <fmt/format.h>

#include <cmath>

#include "base/base64.h"

namespace cloche::rpc {
namespace {

RpcError wrong(const char* name, std::string_view wanted) {
  return {code::invalid_params, fmt::format("'{}' must be {}", name, wanted)};
}

RpcError missing(const char* name) {
  return {code::invalid_params, fmt::format("'{}' is missing", name)};
}

const std::string& string_of(const Json& value, const char* name) {
  if (!value.is_string()) throw wrong(name, "a string");
  return value.get_ref<const std::string&>();
}

const std::string& word_of(const Json& value, const char* name) {
  const std::string& word = string_of(value, name);
  if (word.find('\0') != std::string::npos) {
    throw RpcError{
        code::sandbox_error,
        fmt::format("EINVAL: '{}' holds a NUL character, which ends a string there", name)};
  }
  return word;
}

}  // namespace

const Json* Params::find(const char* name) const {
  if (!value_.is_object()) return nullptr;
  const auto found = value_.find(name);
  return found == value_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> Params::optional_word(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return word_of(*value, name);
}

std::string Params::word(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) throw missing(name);
  return word_of(*value, name);
}

std::optional<std::string> Params::optional_text(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return string_of(*value, name);
}

std::string Params::text(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) throw missing(name);
  return string_of(*value, name);
}

std::string Params::bytes(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) throw missing(name);
  std::optional<std::string> bytes = from_base64(string_of(*value, name));
  if (!bytes) throw wrong(name, "base64");
  return *std::move(bytes);
}

bool Params::flag(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) throw wrong(name, "true or false");
  return value->get<bool>();
}

std::optional<std::uint64_t> Params::optional_count(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  if (!value->is_number()) throw wrong(name, "a number");
  const double number = std::ceil(value->get<double>());
  if (number < 0) throw wrong(name, "a number that is not negative");
  constexpr double beyond = 18446744073709551616.0;
  return number >= beyond ? UINT64_MAX : static_cast<std::uint64_t>(number);
}

std::optional<std::chrono::milliseconds> Params::optional_ms(const char* name) const {
  const std::optional<std::uint64_t> count = optional_count(name);
  if (!count) return std::nullopt;
  // Ten years: a deadline stays within the clock's range.
  constexpr std::uint64_t most = 10ULL * 365 * 24 * 3600 * 1000;
  return std::chrono::milliseconds(std::min(*count, most));
}

std::vector<std::string> Params::words(const char* name) const {
  const Json* value = find(name);
  std::vector<std::string> words;
  if (value == nullptr) return words;
  if (!value->is_array()) throw wrong(name, "an array of strings");
  for (const Json& item : *value) words.push_back(word_of(item, name));
  return words;
}

std::map<std::string, std::string> Params::word_map(const char* name) const {
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

std::vector<Json> Params::objects(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_array()) throw wrong(name, "an array of objects");
  for (const Json& item : *value) {
    if (!item.is_object()) throw wrong(name, "an array of objects");
  }
  return value->get<std::vector<Json>>();
}

}  // namespace cloche::rpc
