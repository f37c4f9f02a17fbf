// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doors/mcp/message.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;

constexpr double integer_most = 9007199254740992.0;  // what every JSON reader takes

bool is_word(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
}

bool is_integer(const Json& value) {
  if (value.is_number_integer()) return true;
  return value.is_number() && std::trunc(value.get<double>()) == value.get<double>();
}

bool is_within(const Json& value, const Parameter& parameter) {
  const double number = value.get<double>();
  if (std::abs(number) > integer_most) return false;
  if (parameter.minimum == 0 && parameter.maximum == 0) return true;
  return number >= parameter.minimum && number <= parameter.maximum;
}

bool fits(const Json& value, const Parameter& parameter) {
  switch (parameter.kind) {
    case Kind::text: return value.is_string();
    case Kind::word: return is_word(value);
    case Kind::choice:
      return value.is_string() &&
             std::ranges::find(parameter.choices, value.get_ref<const std::string&>()) !=
                 parameter.choices.end();
    case Kind::number: return value.is_number() && is_within(value, parameter);
    case Kind::integer: return is_integer(value) && is_within(value, parameter);
    case Kind::flag: return value.is_boolean();
    case Kind::words: return value.is_array() && std::ranges::all_of(value, is_word);
    case Kind::word_map:
      return value.is_object() && std::ranges::all_of(value.items(), [](const auto& item) {
               return is_word(item.value()) && !item.key().empty() &&
                      item.key().find_first_of(std::string("=\0", 2)) == std::string::npos;
             });
    case Kind::range:
      return value.is_array() && value.size() == 2 && is_integer(value[0]) &&
             is_integer(value[1]) && is_within(value[0], parameter) &&
             is_within(value[1], parameter);
  }
  return false;
}

std::string wanted(const Parameter& parameter) {
  const auto within = [&](std::string_view what) {
    if (parameter.minimum == 0 && parameter.maximum == 0) return std::string(what);
    return fmt::format("{} from {} to {}", what, parameter.minimum, parameter.maximum);
  };
  switch (parameter.kind) {
    case Kind::text: return "a string";
    case Kind::word: return "a string without NUL characters";
    case Kind::choice: return fmt::format("one of {}", fmt::join(parameter.choices, ", "));
    case Kind::number: return within("a number");
    case Kind::integer: return within("an integer");
    case Kind::flag: return "true or false";
    case Kind::words: return "an array of strings without NUL characters";
    case Kind::word_map:
      return "an object of strings; names have no '=', and nothing has NUL characters";
    case Kind::range: return "an array of two integers";
  }
  return "another value";
}

Reply schema_of(const Parameter& parameter) {
  Reply schema;
  const auto bound = [&](Reply& to) {
    if (parameter.minimum == 0 && parameter.maximum == 0) return;
    if (parameter.kind == Kind::number) {
      to["minimum"] = parameter.minimum;
      to["maximum"] = parameter.maximum;
    } else {
      to["minimum"] = static_cast<std::int64_t>(parameter.minimum);
      to["maximum"] = static_cast<std::int64_t>(parameter.maximum);
    }
  };
  switch (parameter.kind) {
    case Kind::text:
    case Kind::word: schema["type"] = "string"; break;
    case Kind::choice:
      schema["type"] = "string";
      schema["enum"] = parameter.choices;
      break;
    case Kind::number: schema["type"] = "number"; break;
    case Kind::integer: schema["type"] = "integer"; break;
    case Kind::flag: schema["type"] = "boolean"; break;
    case Kind::words:
      schema["type"] = "array";
      schema["items"] = {{"type", "string"}};
      break;
    case Kind::word_map:
      schema["type"] = "object";
      schema["additionalProperties"] = {{"type", "string"}};
      break;
    case Kind::range:
      schema["type"] = "array";
      schema["items"] = {{"type", "integer"}};
      schema["minItems"] = 2;
      schema["maxItems"] = 2;
      break;
  }
  if (parameter.kind == Kind::number || parameter.kind == Kind::integer) bound(schema);
  if (!parameter.pattern.empty()) schema["pattern"] = parameter.pattern;
  schema["description"] = parameter.description;
  return schema;
}

}  // namespace

Reply schema_of(const std::vector<Parameter>& parameters) {
  Reply properties = Reply::object();
  Reply required = Reply::array();
  for (const Parameter& parameter : parameters) {
    properties[std::string(parameter.name)] = schema_of(parameter);
    if (parameter.need == Parameter::Need::required) required.push_back(parameter.name);
  }
  Reply schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

Arguments::Arguments(const std::vector<Parameter>& parameters, const Json& given,
                     const char* lenient)
    : given_(given) {
  if (!given.is_object() && !given.is_null()) throw ToolError{"the arguments must be an object"};
  // A name that is wrong first: it tells why another one is missing.
  for (const auto& [name, value] : given.items()) {
    if (std::ranges::find(parameters, name, &Parameter::name) != parameters.end()) continue;
    std::vector<std::string_view> known;
    known.reserve(parameters.size());
    for (const Parameter& parameter : parameters) known.push_back(parameter.name);
    throw ToolError{
        fmt::format("there is no argument '{}': this tool takes {}", shown(name),
                    known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")))};
  }
  for (const Parameter& parameter : parameters) {
    const Json* value = find(std::string(parameter.name).c_str());
    if (value != nullptr) {
      if (fits(*value, parameter)) continue;
      throw ToolError{
          fmt::format("the argument '{}' must be {}", parameter.name, wanted(parameter))};
    }
    const Json* excuse = lenient == nullptr ? nullptr : find(lenient);
    const bool excused = excuse != nullptr && excuse->is_boolean() && excuse->get<bool>();
    if (parameter.need == Parameter::Need::required && !excused) {
      throw ToolError{fmt::format("the argument '{}' is missing: it must be {}", parameter.name,
                                  wanted(parameter))};
    }
  }
}

const Json* Arguments::find(const char* name) const {
  const Json* value = member(given_, name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<std::string> Arguments::optional_text(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return value->get<std::string>();
}

std::string Arguments::text(const char* name) const { return optional_text(name).value_or(""); }

double Arguments::number(const char* name, double absent) const {
  const Json* value = find(name);
  return value == nullptr ? absent : value->get<double>();
}

std::int64_t Arguments::integer(const char* name, std::int64_t absent) const {
  const Json* value = find(name);
  return value == nullptr ? absent : static_cast<std::int64_t>(value->get<double>());
}

bool Arguments::flag(const char* name) const {
  const Json* value = find(name);
  return value != nullptr && value->get<bool>();
}

std::vector<std::string> Arguments::words(const char* name) const {
  const Json* value = find(name);
  return value == nullptr ? std::vector<std::string>() : value->get<std::vector<std::string>>();
}

std::map<std::string, std::string> Arguments::word_map(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  return value->get<std::map<std::string, std::string>>();
}

std::optional<std::pair<std::int64_t, std::int64_t>> Arguments::range(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return std::pair(static_cast<std::int64_t>((*value)[0].get<double>()),
                   static_cast<std::int64_t>((*value)[1].get<double>()));
}

}  // namespace cloche::mcp
