// SPDX-License-Identifier: Apache-2.0
// The parameters of a tool as one table: from it come the schema that clients are told, and the
// check of what they send. What is wrong is a ToolError that names the argument and what it takes,
// so that a model can mend it; null counts as absent.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/mcp/protocol.h"
#include "doors/mcp/tool_error.h"

namespace cloche::mcp {

struct Parameter {
  enum class Kind : std::uint8_t {
    text,    // any characters
    word,    // a text without NUL, as system calls take it
    choice,  // one of `choices`
    number,
    integer,
    flag,
    words,     // an array of words
    word_map,  // an object of words
    range,     // an array of two integers
  };
  enum class Need : std::uint8_t { optional, required };

  std::string_view name;
  Kind kind = Kind::text;
  std::string_view description;
  Need need = Need::optional;
  double minimum = 0;  // of numbers
  double maximum = 0;
  std::vector<std::string_view> choices = {};
  std::string_view pattern = {};  // told, and checked by the tool
};

// JSON Schema of an object with them.
Reply schema_of(const std::vector<Parameter>& parameters);

class Arguments {
 public:
  // `given` is what the client sent: an object, or null for none. Both outlive this. Throws
  // ToolError. A parameter that is required may be absent where `lenient` is true.
  Arguments(const std::vector<Parameter>& parameters, const Json& given,
            const char* lenient = nullptr);

  bool has(const char* name) const { return find(name) != nullptr; }
  // Absent: empty.
  std::string text(const char* name) const;
  std::optional<std::string> optional_text(const char* name) const;
  double number(const char* name, double absent) const;
  std::int64_t integer(const char* name, std::int64_t absent) const;
  bool flag(const char* name) const;  // absent: false
  std::vector<std::string> words(const char* name) const;
  std::map<std::string, std::string> word_map(const char* name) const;
  std::optional<std::pair<std::int64_t, std::int64_t>> range(const char* name) const;

  const Json& given() const noexcept { return given_; }

 private:
  const Json* find(const char* name) const;  // null: absent

  const Json& given_;
};

}  // namespace cloche::mcp
