// SPDX-License-Identifier: Apache-2.0
#include "doors/steps/step_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_string.h"
#include "doors/steps/python_json.h"

namespace cloche::steps {
namespace {

using Kind = PyValue::Kind;

// FastAPI reads a body as JSON for application/json and application/...+json.
bool is_json(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  const std::size_t slash = type.find('/');
  if (slash == std::string_view::npos || !http::same_text(type.substr(0, slash), "application"))
    return false;
  const std::string_view subtype = type.substr(slash + 1);
  return http::same_text(subtype, "json") ||
         (subtype.size() > 5 && http::same_text(subtype.substr(subtype.size() - 5), "+json"));
}

// The list of what is wrong. An input that JSON cannot say makes the whole answer a 500, as it does
// there.
class Errors {
 public:
  // `path` is what follows "body" in loc, as JSON: "\"bash\",\"payload\"".
  void add(std::string_view type, std::string_view path, std::string_view message,
           const PyValue& input, std::string_view context = {}) {
    const std::optional<std::string> shown = dump_python_json(input);
    if (!shown) broken_ = true;
    add_raw(type, path, message, shown.value_or("null"), context);
  }

  void add_raw(std::string_view type, std::string_view path, std::string_view message,
               std::string_view input, std::string_view context) {
    if (!text_.empty()) text_ += ',';
    text_ += fmt::format(R"({{"type":"{}","loc":["body"{}{}],"msg":{},"input":{}{}{}}})", type,
                         path.empty() ? "" : ",", path, json_string(message), input,
                         context.empty() ? "" : R"(,"ctx":)", context);
  }

  bool any() const { return !text_.empty(); }
  http::Response response() const {
    if (broken_) return http::text_response(500, "Internal Server Error");
    return http::json_response(422, R"({"detail":[)" + text_ + "]}");
  }

 private:
  std::string text_;
  bool broken_ = false;
};

constexpr std::string_view want_object =
    "Input should be a valid dictionary or object to extract fields from";

const PyValue* require(Errors& errors, const PyValue& object, const std::string& path,
                       std::string_view name) {
  const PyValue* value = object.find(name);
  if (!value) {
    errors.add("missing", path + "," + json_string(name), "Field required", object);
  }
  return value;
}

void check_string(Errors& errors, const PyValue& value, const std::string& path) {
  if (value.kind != Kind::string)
    errors.add("string_type", path, "Input should be a valid string", value);
}

void forbid_others(Errors& errors, const PyValue& object, const std::string& path,
                   std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object.members) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      errors.add("extra_forbidden", path + "," + json_string(name),
                 "Extra inputs are not permitted", value);
    }
  }
}

// What an operating system cannot be given as an argument.
void check_argument(Errors& errors, const PyValue& value, const std::string& path) {
  if (has_surrogate(value.text)) {
    errors.add_raw("string_unicode", path,
                   "Input should be a valid string, unable to parse raw data as a unicode string",
                   json_string(value.text), {});
  } else if (value.text.find('\0') != std::string::npos) {
    errors.add("value_error", path, "Value error, embedded null byte", value, R"({"error":{}})");
  }
}

std::variant<StepRequest, http::Response> check(const PyValue& body) {
  Errors errors;
  if (body.kind != Kind::object) {
    errors.add("model_attributes_type", {}, want_object, body);
    return errors.response();
  }
  static constexpr std::string_view discriminator = R"("discriminator":"'type'")";
  const PyValue* type = body.find("type");
  if (!type) {
    errors.add("union_tag_not_found", {}, "Unable to extract tag using discriminator 'type'", body,
               fmt::format("{{{}}}", discriminator));
    return errors.response();
  }
  const bool bash = type->kind == Kind::string && type->text == "bash";
  if (!bash && !(type->kind == Kind::string && type->text == "python")) {
    const std::string tag = python_str(*type);
    errors.add("union_tag_invalid", {},
               fmt::format("Input tag '{}' found using 'type' does not match any of the expected "
                           "tags: 'bash', 'python'",
                           tag),
               body,
               fmt::format(R"({{{},"tag":{},"expected_tags":"'bash', 'python'"}})", discriminator,
                           json_string(tag)));
    return errors.response();
  }

  const std::string branch = bash ? R"("bash")" : R"("python")";
  const std::string_view field = bash ? "cmd" : "code";
  const PyValue* id = require(errors, body, branch, "sandbox_id");
  if (id) {
    const std::string path = branch + R"(,"sandbox_id")";
    if (id->kind == Kind::string && id->text.empty()) {
      errors.add("string_too_short", path, "String should have at least 1 character", *id,
                 R"({"min_length":1})");
    } else {
      check_string(errors, *id, path);
    }
  }
  const PyValue* payload = require(errors, body, branch, "payload");
  const PyValue* source = nullptr;
  const std::string payload_path = branch + R"(,"payload")";
  if (payload && payload->kind != Kind::object) {
    errors.add("model_attributes_type", payload_path, want_object, *payload);
  } else if (payload) {
    source = require(errors, *payload, payload_path, field);
    const std::string path = payload_path + "," + json_string(field);
    if (source) check_string(errors, *source, path);
    if (source && source->kind == Kind::string) check_argument(errors, *source, path);
    forbid_others(errors, *payload, payload_path, {field});
  }
  forbid_others(errors, body, branch, {"sandbox_id", "type", "payload"});
  if (errors.any()) return errors.response();
  return StepRequest{id->text, bash ? Language::bash : Language::python, source->text};
}

}  // namespace

std::variant<StepRequest, http::Response> parse_step(std::string_view content_type,
                                                     std::string_view body) {
  Errors errors;
  if (body.empty()) {
    errors.add_raw("missing", {}, "Field required", "null", {});
    return errors.response();
  }
  if (!is_json(content_type)) {
    errors.add_raw("model_attributes_type", {}, want_object, json_string(body), {});
    return errors.response();
  }
  const auto parsed = parse_python_json(body);
  if (const auto* error = std::get_if<PyJsonError>(&parsed)) {
    errors.add_raw("json_invalid", std::to_string(error->position), "JSON decode error", "{}",
                   fmt::format(R"({{"error":{}}})", json_string(error->message)));
    return errors.response();
  }
  if (std::holds_alternative<Unreadable>(parsed))
    return http::json_response(400, R"({"detail":"There was an error parsing the body"})");
  return check(std::get<PyValue>(parsed));
}

}  // namespace cloche::steps
