// SPDX-License-Identifier: Apache-2.0
// ToolParameters: the JSON Schema of a tool's arguments, as a command line.
//
// A member of the schema is a flag: `--query TEXT`, `--limit 3`, `--verbose`; one of an array may
// be repeated. Words without a flag are the required ones in their order. What is no text, number
// or boolean is said as JSON. `-` reads an object with members from standard input; so does a line
// that has nothing at all where something is required. What the schema says beyond types is the
// server's to check.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/result.h"

namespace cloche::mcp::mount {

// What a command line asks for.
struct ToolCommandLine {
  OrderedJson arguments = OrderedJson::object();
  bool reads_input = false;  // for members that are not in `arguments`
  std::size_t part = 0;      // the only part of the result to print, from 1; 0: the text of all
};

class ToolParameters {
 public:
  static constexpr std::size_t limit = 256;

  // Of a schema that anybody has written: what cannot be understood takes any JSON. Members over
  // the limit are those that standard input alone can give.
  explicit ToolParameters(const OrderedJson& schema);

  // Or a sentence that says which word is wrong.
  Result<ToolCommandLine, Error> read(std::span<const std::string> words) const;
  // The same of what standard input had, with the members that the line had: or a sentence.
  Result<OrderedJson, Error> merge(std::string_view input, OrderedJson given) const;

  // The usage, and a line for each parameter.
  std::string help(std::string_view command) const;

 private:
  // The JSON types that a value may have, as bits; none: any.
  enum Type : std::uint8_t {
    text = 1,
    integer = 2,
    number = 4,
    boolean = 8,
    array = 16,
    object = 32
  };
  struct Parameter {
    std::string name;
    std::string about;
    std::string kind;  // how its value is called in the help
    std::uint8_t types = 0;
    std::uint8_t item_types = 0;  // of an array
    bool is_required = false;
  };
  class Reader;

  // `budget`: how many schemas may be looked at yet.
  static std::uint8_t types_of(const OrderedJson& schema, const OrderedJson& root,
                               unsigned& budget);
  static const OrderedJson* resolved(const OrderedJson& schema, const OrderedJson& root);
  static std::string kind_of(const Parameter& parameter, const OrderedJson& schema);
  static unsigned types_that_take(const OrderedJson& value);
  static std::optional<OrderedJson> value_of(std::uint8_t types, const std::string& word);
  const Parameter* find(std::string_view name) const;
  std::optional<Error> missing(const OrderedJson& arguments) const;

  std::vector<Parameter> parameters_;  // those that are required first, in their order
  bool has_part_ = false;              // --part is a parameter of the tool's own
};

}  // namespace cloche::mcp::mount
