// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/json_lookup.h"
#include "doors/mcp/protocol.h"

namespace cloche::mcp::mount {
namespace {

constexpr std::size_t description_limit_bytes = 400;
constexpr JsonBounds word_bounds{.depth = 32, .values = 100'000};
constexpr unsigned schemas_of_parameter = 200;
constexpr std::string_view part_flag = "part";

// On one line, and not without end.
std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
  if (text.size() <= description_limit_bytes) return text;
  std::size_t end = description_limit_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + " ...";
}

bool is_flag_name(std::string_view name) {
  constexpr std::size_t longest = 100;
  return !name.empty() && name.size() <= longest && name.front() != '-' &&
         std::ranges::all_of(name,
                             [](unsigned char c) { return c > ' ' && c != '=' && c != 0x7f; });
}

std::optional<OrderedJson> json_of(const std::string& word) {
  auto read = read_json<OrderedJson>(word, word_bounds);
  if (auto* value = std::get_if<OrderedJson>(&read)) return std::move(*value);
  return std::nullopt;
}

Error wrong(const std::string& sentence) { return request_error(sentence); }

}  // namespace

const OrderedJson* ToolParameters::resolved(const OrderedJson& schema, const OrderedJson& root) {
  const std::string reference = text_in(schema, "$ref");
  for (const char* folder : {"$defs", "definitions"}) {
    const std::string start = fmt::format("#/{}/", folder);
    if (reference.starts_with(start))
      return &member_or_null(member_or_null(root, folder),
                             std::string_view(reference).substr(start.size()));
  }
  return &schema;
}

std::uint8_t ToolParameters::types_of(const OrderedJson& schema, const OrderedJson& root,
                                      unsigned& budget) {
  constexpr std::array<std::pair<std::string_view, Type>, 6> names{{{"string", text},
                                                                    {"integer", integer},
                                                                    {"number", number},
                                                                    {"boolean", boolean},
                                                                    {"array", array},
                                                                    {"object", object}}};
  if (budget == 0) return 0;
  --budget;
  const OrderedJson& meant = *resolved(schema, root);
  unsigned types = 0;
  const auto add = [&](const OrderedJson& name) {
    if (!name.is_string()) return;
    const auto* known = std::ranges::find(names, name.get_ref<const std::string&>(),
                                          &std::pair<std::string_view, Type>::first);
    if (known != names.end()) types |= known->second;
  };
  const OrderedJson& type = member_or_null(meant, "type");
  add(type);
  if (type.is_array()) std::ranges::for_each(type, add);
  for (const char* choice : {"anyOf", "oneOf"}) {
    const OrderedJson& choices = member_or_null(meant, choice);
    if (!choices.is_array()) continue;
    for (const OrderedJson& one : choices) {
      const unsigned some = types_of(one, root, budget);
      // null is what is left out; any other without a type may be anything.
      if (some == 0 && text_in(one, "type") != "null") return 0;
      types |= some;
    }
  }
  const OrderedJson& values = member_or_null(meant, "enum");
  if (types == 0 && values.is_array() && !values.empty() &&
      std::ranges::all_of(values, [](const OrderedJson& value) { return value.is_string(); }))
    types = text;
  return static_cast<std::uint8_t>(types);
}

std::string ToolParameters::kind_of(const Parameter& parameter, const OrderedJson& schema) {
  const OrderedJson& values = member_or_null(schema, "enum");
  if (values.is_array() && !values.empty()) {
    std::string all;
    for (const OrderedJson& value : values)
      all += (all.empty() ? "" : "|") +
             (value.is_string() ? value.get<std::string>() : write_json(value));
    constexpr std::size_t most = 200;
    if (all.size() <= most) return one_line(all);
  }
  switch (parameter.types) {
    case text: return "TEXT";
    case integer: return "INTEGER";
    case number:
    case number | integer: return "NUMBER";
    case boolean: return "";
    case array:
      return parameter.item_types == text      ? "TEXT ..."
             : parameter.item_types == integer ? "INTEGER ..."
                                               : "JSON ...";
    default: return (parameter.types & text) != 0 ? "TEXT|JSON" : "JSON";
  }
}

ToolParameters::ToolParameters(const OrderedJson& schema) {
  const OrderedJson& properties = member_or_null(schema, "properties");
  if (!properties.is_object()) return;
  std::vector<std::string> required;
  if (const OrderedJson& names = member_or_null(schema, "required"); names.is_array()) {
    for (const OrderedJson& name : names) {
      if (name.is_string() && required.size() < limit) required.push_back(name.get<std::string>());
    }
  }
  for (const auto& [name, about] : properties.items()) {
    if (parameters_.size() == limit) break;
    if (!is_flag_name(name)) continue;
    const OrderedJson& meant = *resolved(about, schema);
    unsigned budget = schemas_of_parameter;
    Parameter parameter;
    parameter.name = name;
    parameter.types = types_of(about, schema, budget);
    parameter.about = text_in(about, "description");
    if (parameter.about.empty()) parameter.about = text_in(meant, "description");
    parameter.about = one_line(parameter.about);
    if (const OrderedJson& usual = member_or_null(about, "default"); !usual.is_null())
      parameter.about +=
          one_line(fmt::format("{}({})", parameter.about.empty() ? "" : " ", write_json(usual)));
    parameter.item_types = types_of(member_or_null(meant, "items"), schema, budget);
    parameter.is_required = std::ranges::find(required, name) != required.end();
    parameter.kind = kind_of(parameter, meant);
    has_part_ = has_part_ || name == part_flag;
    parameters_.push_back(std::move(parameter));
  }
  const auto place = [&](const Parameter& parameter) {
    return std::ranges::find(required, parameter.name) - required.begin();
  };
  std::ranges::stable_sort(parameters_, {}, place);
}

const ToolParameters::Parameter* ToolParameters::find(std::string_view name) const {
  const auto found = std::ranges::find(parameters_, name, &Parameter::name);
  return found == parameters_.end() ? nullptr : &*found;
}

unsigned ToolParameters::types_that_take(const OrderedJson& value) {
  if (value.is_number_integer()) return integer | number;
  if (value.is_number()) return number;
  if (value.is_boolean()) return boolean;
  if (value.is_array()) return array;
  if (value.is_object()) return object;
  return 0;
}

std::optional<OrderedJson> ToolParameters::value_of(std::uint8_t types, const std::string& word) {
  if (types == text) return OrderedJson(word);
  std::optional<OrderedJson> value = json_of(word);
  if (value && (types == 0 || (types & types_that_take(*value)) != 0)) return value;
  if (types == 0 || (types & text) != 0) return OrderedJson(word);
  return std::nullopt;
}

std::optional<Error> ToolParameters::missing(const OrderedJson& arguments) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.is_required && !arguments.contains(parameter.name))
      return wrong(fmt::format("--{} is missing", parameter.name));
  }
  return std::nullopt;
}

// One line, word by word.
class ToolParameters::Reader {
 public:
  Reader(const ToolParameters& all, std::span<const std::string> words)
      : all_(all), words_(words) {}

  Result<ToolCommandLine, Error> read() {
    bool only_words = false;
    for (; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      std::optional<Error> problem;
      if (!only_words && word == "--") {
        only_words = true;
      } else if (!only_words && word == "-") {
        line_.reads_input = true;
      } else if (!only_words && word.starts_with("--")) {
        problem = flag(word.substr(2));
      } else {
        plain_.push_back(word);
      }
      if (problem) return *std::move(problem);
    }
    if (std::optional<Error> problem = place_plain()) return *std::move(problem);
    if (line_.reads_input) return std::move(line_);
    std::optional<Error> problem = all_.missing(line_.arguments);
    if (problem && line_.arguments.empty()) {
      line_.reads_input = true;
      return std::move(line_);
    }
    if (problem) return *std::move(problem);
    return std::move(line_);
  }

 private:
  std::optional<Error> flag(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const Parameter* parameter = all_.find(name);
    const bool is_part = parameter == nullptr && name == part_flag;
    if (parameter == nullptr && !is_part)
      return wrong(fmt::format("there is no --{}: --help says what there is", shown(name)));
    if (equals == std::string::npos && parameter != nullptr && parameter->types == boolean) {
      line_.arguments[name] = true;
      return std::nullopt;
    }
    if (equals == std::string::npos && ++at_ == words_.size())
      return wrong(fmt::format("--{} wants a value", name));
    const std::string value = equals == std::string::npos ? words_[at_] : text.substr(equals + 1);
    return is_part ? set_part(value) : set(*parameter, value);
  }

  std::optional<Error> set_part(const std::string& word) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), line_.part);
    if (error == std::errc() && end == word.data() + word.size() && line_.part > 0)
      return std::nullopt;
    return wrong(
        fmt::format("--{} wants the number of a part, from 1; not '{}'", part_flag, shown(word)));
  }

  std::optional<Error> set(const Parameter& parameter, const std::string& word) {
    OrderedJson& member = line_.arguments[parameter.name];
    if (parameter.types != array) {
      std::optional<OrderedJson> value = value_of(parameter.types, word);
      if (value && (word.empty() || !value->is_string() || is_text(parameter))) {
        member = *std::move(value);
        return std::nullopt;
      }
      return wrong(
          fmt::format("--{} wants {}; not '{}'", parameter.name, what(parameter), shown(word)));
    }
    if (!member.is_array()) member = OrderedJson::array();
    if (word.starts_with('[')) {
      if (std::optional<OrderedJson> list = json_of(word); list && list->is_array()) {
        for (OrderedJson& item : *list) member.push_back(std::move(item));
        return std::nullopt;
      }
    }
    std::optional<OrderedJson> item = value_of(parameter.item_types, word);
    if (!item)
      return wrong(
          fmt::format("--{} wants {}; not '{}'", parameter.name, what(parameter), shown(word)));
    member.push_back(*std::move(item));
    return std::nullopt;
  }

  static bool is_text(const Parameter& parameter) {
    return parameter.types == 0 || (parameter.types & text) != 0;
  }

  static std::string what(const Parameter& parameter) {
    switch (parameter.types) {
      case integer: return "an integer";
      case number:
      case number | integer: return "a number";
      case boolean: return "true or false";
      default: return "JSON as its schema says";
    }
  }

  std::optional<Error> place_plain() {
    auto parameter = all_.parameters_.begin();
    for (const std::string& word : plain_) {
      const auto is_free = [&](const Parameter& one) {
        return one.is_required && !line_.arguments.contains(one.name);
      };
      parameter = std::find_if(parameter, all_.parameters_.end(), is_free);
      if (parameter == all_.parameters_.end())
        return wrong(fmt::format("'{}' is one word too many: say --NAME VALUE", shown(word)));
      if (std::optional<Error> problem = set(*parameter, word)) return problem;
      ++parameter;
    }
    return std::nullopt;
  }

  const ToolParameters& all_;
  const std::span<const std::string> words_;
  std::size_t at_ = 0;
  std::vector<std::string> plain_;
  ToolCommandLine line_;
};

Result<ToolCommandLine, Error> ToolParameters::read(std::span<const std::string> words) const {
  return Reader(*this, words).read();
}

Result<OrderedJson, Error> ToolParameters::merge(std::string_view input, OrderedJson given) const {
  auto read = read_json<OrderedJson>(input, word_bounds);
  if (const auto* problem = std::get_if<JsonProblem>(&read))
    return wrong(fmt::format("standard input is no JSON object: {}", problem->sentence));
  OrderedJson arguments = std::get<OrderedJson>(std::move(read));
  if (!arguments.is_object()) return wrong("standard input is no JSON object");
  for (auto& [name, value] : given.items()) arguments[name] = std::move(value);
  if (std::optional<Error> problem = missing(arguments)) return *std::move(problem);
  return arguments;
}

std::string ToolParameters::help(std::string_view command) const {
  std::string usage = fmt::format("Usage: {}", command);
  std::string lines;
  for (const Parameter& parameter : parameters_) {
    const std::string flag =
        fmt::format("--{}{}{}", parameter.name, parameter.kind.empty() ? "" : " ", parameter.kind);
    usage += parameter.is_required ? " " + flag : fmt::format(" [{}]", flag);
    lines += fmt::format("  {}\n", flag);
    if (!parameter.about.empty()) lines += fmt::format("      {}\n", parameter.about);
  }
  usage += '\n';
  if (!parameters_.empty())
    usage += fmt::format("       {} - < FILE     (a JSON object with these members)\n\n", command);
  usage += lines;
  if (!has_part_) {
    usage += fmt::format(
        "  --{} NUMBER\n      print this part of the result alone: its text, or a picture's "
        "bytes\n",
        part_flag);
  }
  return usage;
}

}  // namespace cloche::mcp::mount
