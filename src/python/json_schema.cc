// SPDX-License-Identifier: Apache-2.0
#include "python/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace cloche::python {
namespace {

constexpr int max_depth = 64;
constexpr int max_steps = 200'000;

std::string shown(const Json& value) {
  constexpr std::size_t enough = 60;
  std::string text = write_json(value);
  if (text.size() > enough) {
    text.resize(enough);
    text += "...";
  }
  return text;
}

bool is_integer(const Json& value) {
  if (value.is_number_integer()) return true;
  return value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>();
}

bool has_type(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return is_integer(value);
  if (type == "number") return value.is_number();
  return true;  // an unknown type
}

// Code points.
std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

class Check {
 public:
  explicit Check(const Json& root) : root_(root) {}

  // What is wrong; empty: nothing.
  std::string run(const Json& schema, const Json& value, const std::string& path, int depth) {
    if (depth > max_depth || ++steps_ > max_steps)
      return at(path, "its schema is too deep to check");
    if (schema.is_boolean()) return schema.get<bool>() ? "" : at(path, "is not allowed");
    if (!schema.is_object()) return {};
    for (auto check : {&Check::reference, &Check::type, &Check::values, &Check::object,
                       &Check::array, &Check::text, &Check::number, &Check::combined}) {
      if (std::string problem = (this->*check)(schema, value, path, depth); !problem.empty())
        return problem;
    }
    return {};
  }

 private:
  static std::string at(const std::string& path, std::string_view what) {
    return path.empty() ? std::string(what) : fmt::format("{}: {}", path, what);
  }

  std::string reference(const Json& schema, const Json& value, const std::string& path, int depth) {
    const auto ref = schema.find("$ref");
    if (ref == schema.end() || !ref->is_string()) return {};
    const std::string target = ref->get<std::string>();
    if (!target.starts_with('#')) return {};
    try {
      const Json::json_pointer pointer(target.substr(1));
      if (!root_.contains(pointer)) return {};
      return run(root_.at(pointer), value, path, depth + 1);
    } catch (const Json::exception&) {
      return {};
    }
  }

  std::string type(const Json& schema, const Json& value, const std::string& path, int) {
    const auto type = schema.find("type");
    if (type == schema.end()) return {};
    std::string names;
    const auto fits = [&](const Json& name) {
      if (!name.is_string()) return true;
      names += (names.empty() ? "" : " or ") + name.get<std::string>();
      return has_type(value, name.get<std::string>());
    };
    if (type->is_array() ? std::ranges::any_of(*type, fits) : fits(*type)) return {};
    return at(path, fmt::format("{} is not of type {}", shown(value), names));
  }

  std::string values(const Json& schema, const Json& value, const std::string& path, int) {
    if (const auto same = schema.find("const"); same != schema.end() && *same != value)
      return at(path, fmt::format("{} is not {}", shown(value), shown(*same)));
    const auto allowed = schema.find("enum");
    if (allowed != schema.end() && allowed->is_array() &&
        std::ranges::find(*allowed, value) == allowed->end())
      return at(path, fmt::format("{} is not one of {}", shown(value), shown(*allowed)));
    return {};
  }

  std::string object(const Json& schema, const Json& value, const std::string& path, int depth) {
    if (!value.is_object()) return {};
    if (const auto required = schema.find("required");
        required != schema.end() && required->is_array()) {
      for (const Json& name : *required) {
        if (name.is_string() && !value.contains(name.get<std::string>()))
          return at(path, fmt::format("the argument '{}' is missing", name.get<std::string>()));
      }
    }
    if (std::string problem =
            count(schema, "minProperties", "maxProperties", value.size(), "properties", path);
        !problem.empty())
      return problem;
    const auto properties = schema.find("properties");
    const auto more = schema.find("additionalProperties");
    for (const auto& [name, member] : value.items()) {
      const std::string inner = path.empty() ? name : path + "." + name;
      if (properties != schema.end() && properties->is_object() && properties->contains(name)) {
        std::string problem = run((*properties)[name], member, inner, depth + 1);
        if (!problem.empty()) return problem;
      } else if (more != schema.end()) {
        if (more->is_boolean() && !more->get<bool>())
          return at(path, fmt::format("there is no argument '{}'", name));
        std::string problem = run(*more, member, inner, depth + 1);
        if (!problem.empty()) return problem;
      }
    }
    return {};
  }

  std::string array(const Json& schema, const Json& value, const std::string& path, int depth) {
    if (!value.is_array()) return {};
    if (std::string problem = count(schema, "minItems", "maxItems", value.size(), "items", path);
        !problem.empty())
      return problem;
    const auto prefix = schema.find("prefixItems");
    const std::size_t fixed =
        prefix != schema.end() && prefix->is_array() ? prefix->size() : std::size_t{0};
    const auto items = schema.find("items");
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Json* inner = i < fixed ? &(*prefix)[i] : items != schema.end() ? &*items : nullptr;
      if (inner == nullptr) break;
      std::string problem = run(*inner, value[i], fmt::format("{}[{}]", path, i), depth + 1);
      if (!problem.empty()) return problem;
    }
    if (const auto unique = schema.find("uniqueItems"); unique != schema.end() && *unique == true) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (++steps_ > max_steps) return at(path, "is too long to check");
          if (value[i] == value[j])
            return at(path, fmt::format("{} is there twice", shown(value[i])));
        }
      }
    }
    return {};
  }

  std::string text(const Json& schema, const Json& value, const std::string& path, int) {
    if (!value.is_string()) return {};
    return count(schema, "minLength", "maxLength", length_of(value.get_ref<const std::string&>()),
                 "characters", path);
  }

  std::string number(const Json& schema, const Json& value, const std::string& path, int) {
    if (!value.is_number()) return {};
    const auto limit = [&](const char* word) -> const Json* {
      const auto found = schema.find(word);
      return found != schema.end() && found->is_number() ? &*found : nullptr;
    };
    if (const Json* least = limit("minimum"); least && value < *least)
      return at(path, fmt::format("{} is less than {}", shown(value), shown(*least)));
    if (const Json* most = limit("maximum"); most && value > *most)
      return at(path, fmt::format("{} is more than {}", shown(value), shown(*most)));
    if (const Json* least = limit("exclusiveMinimum"); least && value <= *least)
      return at(path, fmt::format("{} is not more than {}", shown(value), shown(*least)));
    if (const Json* most = limit("exclusiveMaximum"); most && value >= *most)
      return at(path, fmt::format("{} is not less than {}", shown(value), shown(*most)));
    if (const Json* unit = limit("multipleOf"); unit && unit->get<double>() > 0) {
      const double times = value.get<double>() / unit->get<double>();
      if (std::abs(times - std::round(times)) > 1e-9)
        return at(path, fmt::format("{} is no multiple of {}", shown(value), shown(*unit)));
    }
    return {};
  }

  std::string combined(const Json& schema, const Json& value, const std::string& path, int depth) {
    const auto list = [&](const char* word) -> const Json* {
      const auto found = schema.find(word);
      return found != schema.end() && found->is_array() ? &*found : nullptr;
    };
    if (const Json* all = list("allOf")) {
      for (const Json& one : *all) {
        std::string problem = run(one, value, path, depth + 1);
        if (!problem.empty()) return problem;
      }
    }
    for (const char* word : {"anyOf", "oneOf"}) {
      const Json* choices = list(word);
      if (choices == nullptr) continue;
      std::string first;
      int fitting = 0;
      for (const Json& one : *choices) {
        std::string problem = run(one, value, path, depth + 1);
        if (problem.empty()) {
          ++fitting;
        } else if (first.empty()) {
          first = std::move(problem);
        }
      }
      if (fitting == 0) return first.empty() ? at(path, "fits nothing that is allowed") : first;
      if (fitting > 1 && std::string_view(word) == "oneOf")
        return at(path, fmt::format("{} fits more than one of what is allowed", shown(value)));
    }
    if (const auto negated = schema.find("not"); negated != schema.end()) {
      if (run(*negated, value, path, depth + 1).empty())
        return at(path, fmt::format("{} is not allowed", shown(value)));
    }
    return {};
  }

  static std::string count(const Json& schema, const char* least, const char* most,
                           std::size_t have, const char* of_what, const std::string& path) {
    if (const auto found = schema.find(least);
        found != schema.end() && found->is_number_unsigned() && have < found->get<std::size_t>())
      return at(path, fmt::format("has {} {}, fewer than {}", have, of_what, found->dump()));
    if (const auto found = schema.find(most);
        found != schema.end() && found->is_number_unsigned() && have > found->get<std::size_t>())
      return at(path, fmt::format("has {} {}, more than {}", have, of_what, found->dump()));
    return {};
  }

  const Json& root_;
  int steps_ = 0;
};

}  // namespace

JsonSchema::JsonSchema(std::string_view text) : schema_(Json::object()) {
  if (text.empty()) return;
  std::optional<Json> schema = read_json(text);
  if (!schema || !schema->is_object())
    throw request_error("the schema of the parameters is no JSON object");
  schema_ = *std::move(schema);
}

std::string JsonSchema::problem(const Json& value) const {
  return Check(schema_).run(schema_, value, {}, 0);
}

}  // namespace cloche::python
