// SPDX-License-Identifier: Apache-2.0
// JSON from outside, read within bounds, and JSON that goes out: the reader and the writer of all
// doors.
//
// Reading is linear in the text, but for the sorting of an object's names: a name is never looked
// for among all others one by one, and none is hashed. So a client cannot choose names that make it
// slow. (JSON as CPython reads it, which the steps' API promises to the byte, is in doors/steps.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace cloche {

// Members by name.
using Json = nlohmann::json;
// Members in the order in which they came, or were put. To find one takes as long as there are
// members: for texts whose order is told again, and for what we write.
using OrderedJson = nlohmann::ordered_json;

enum class RepeatedNames : std::uint8_t { refused, last_wins };

struct JsonBounds {
  std::size_t depth = 64;          // of arrays and objects in each other
  std::size_t values = 1'000'000;  // all together
  RepeatedNames repeated = RepeatedNames::refused;
};

struct JsonProblem {
  enum class Kind : std::uint8_t { not_json, beyond_bounds };
  Kind kind = Kind::not_json;
  std::string sentence;
};

// The value in `text`; or what is wrong: not_json (broken UTF-8 and numbers that no double holds
// included), or beyond_bounds. An integer outside of 64 bits becomes the nearest double.
//
// `member`, where it is asked for: of an object that is beyond the bounds the value of its member
// `member_name` all the same, when that is no array or object; otherwise null. Never throws but for
// want of memory.
//
// For Value = Json and OrderedJson.
template <typename Value>
std::variant<Value, JsonProblem> read_json(std::string_view text, const JsonBounds& bounds,
                                           std::string_view member_name = {},
                                           Value* member = nullptr);

extern template std::variant<Json, JsonProblem> read_json(std::string_view, const JsonBounds&,
                                                          std::string_view, Json*);
extern template std::variant<OrderedJson, JsonProblem> read_json(std::string_view,
                                                                 const JsonBounds&,
                                                                 std::string_view, OrderedJson*);

// On one line; what is not UTF-8 becomes U+FFFD.
std::string write_json(const Json& value);
std::string write_json(const OrderedJson& value);

}  // namespace cloche
