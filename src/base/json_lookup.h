// SPDX-License-Identifier: Apache-2.0
// JSON that others made and that may be anything: what cannot be read, is missing, or of another
// type, is none. Who must say what is wrong with it reads by base/json.h and base/json_members.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cloche {

// Nothing for what is no JSON, or beyond the usual bounds (JsonBounds). Of equal names the last
// wins, as with other readers.
std::optional<Json> parse_json(std::string_view text);

// Null where `object` is no object, or has no such member. For Value = Json and OrderedJson.
template <typename Value>
const Value* find_member(const Value& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

// The same, with JSON's null for none.
template <typename Value>
const Value& member_or_null(const Value& object, std::string_view name) {
  static const Value none;
  const Value* found = find_member(object, name);
  return found == nullptr ? none : *found;
}

// The member that is a string; null where there is no such.
template <typename Value>
const std::string* find_text(const Value& object, std::string_view name) {
  const Value* found = find_member(object, name);
  return found == nullptr ? nullptr : found->template get_ptr<const std::string*>();
}

// The same, with "" for none.
template <typename Value>
std::string text_in(const Value& object, std::string_view name) {
  const std::string* found = find_text(object, name);
  return found == nullptr ? std::string() : *found;
}

}  // namespace cloche
