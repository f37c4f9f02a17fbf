// SPDX-License-Identifier: Apache-2.0
// JSON as CPython's `json` module reads and writes it: the same errors at the same characters,
// numbers printed as Python prints them, duplicate keys, NaN. The step server promises FastAPI's
// answers to the byte, and these quote their input.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cloche::steps {

struct PyValue {
  enum class Kind { null, boolean, integer, real, string, array, object };
  PyValue() = default;
  explicit PyValue(Kind its_kind, std::string its_text = {})
      : kind(its_kind), text(std::move(its_text)) {}

  Kind kind = Kind::null;
  // string: UTF-8, lone surrogates in their three bytes; integer and real: as Python prints it;
  // boolean: "true" or "false".
  std::string text;
  std::vector<PyValue> items;
  std::vector<std::pair<std::string, PyValue>>
      members;  // the last of equal keys, at the first's place

  const PyValue* find(std::string_view key) const;
};

struct PyJsonError {
  std::string message;       // "Expecting value"
  std::size_t position = 0;  // in characters
};

// What cannot be read at all: not UTF-8, nested too deep, a number with too many digits.
struct Unreadable {};

std::variant<PyValue, PyJsonError, Unreadable> parse_python_json(std::string_view text);

// As json.dumps(ensure_ascii=False, separators=(",", ":")); nothing where that would fail: NaN,
// infinity, a lone surrogate.
std::optional<std::string> dump_python_json(const PyValue& value);

// As str(value).
std::string python_str(const PyValue& value);

bool has_surrogate(std::string_view text);

}  // namespace cloche::steps
