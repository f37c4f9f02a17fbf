// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/message.h"

#include <fmt/format.h>

namespace cloche::mcp {
namespace {

constexpr JsonBounds bounds{.depth = 64, .values = 1'000'000};

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

BadMessage bad(const Json& id, std::string why) {
  return {is_id(id) ? Reply(id) : Reply(nullptr), {code::invalid_request, std::move(why)}};
}

bool is_modern_method(std::string_view method) {
  return method == "server/discover" || method == "subscriptions/listen";
}

}  // namespace

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string_view text_member(const Json& object, const char* name) {
  const Json* value = member(object, name);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_ref<const std::string&>();
}

std::variant<Message, BadMessage> read_message(std::string_view text) {
  Json given_id;
  auto read = read_json<Json>(text, bounds, "id", &given_id);
  if (auto* problem = std::get_if<JsonProblem>(&read)) {
    if (problem->kind == JsonProblem::Kind::not_json)
      return BadMessage{nullptr, {code::parse_error, std::move(problem->sentence)}};
    return bad(given_id, std::move(problem->sentence));
  }
  Json& value = std::get<Json>(read);
  if (value.is_array()) return bad(nullptr, "batches are not served: send one message at a time");
  if (!value.is_object()) return bad(nullptr, "a message is an object");

  const Json* id = member(value, "id");
  const Json known_id = id == nullptr ? Json(nullptr) : *id;
  if (id != nullptr && !is_id(*id)) return bad(nullptr, "'id' must be a string or an integer");
  if (text_member(value, "jsonrpc") != "2.0") return bad(known_id, "'jsonrpc' must be \"2.0\"");

  Message message;
  message.id = known_id;
  if (const Json* method = member(value, "method")) {
    if (!method->is_string()) return bad(known_id, "'method' must be a string");
    message.kind = id == nullptr ? Message::Kind::notification : Message::Kind::request;
    message.method = method->get<std::string>();
    const auto params = value.find("params");
    if (params != value.end()) message.params = std::move(*params);
    if (!message.params.is_object() && !message.params.is_null())
      return BadMessage{Reply(known_id), {code::invalid_params, "'params' must be an object"}};
    return message;
  }
  message.kind = Message::Kind::answer;
  const auto result = value.find("result");
  const bool has_error = value.contains("error");
  if (id == nullptr || (result != value.end()) == has_error)
    return bad(known_id, "'method' is missing: this is neither a request nor an answer");
  if (!has_error) message.result = std::move(*result);
  return message;
}

Asker asker_of(const Message& request) {
  const Json* about = member(request.params, "_meta");
  const Json* version = about == nullptr ? nullptr : member(*about, meta::version);
  if (version == nullptr && !is_modern_method(request.method)) return {};
  if (version == nullptr || !version->is_string()) {
    throw ProtocolError{code::invalid_params,
                        fmt::format("params._meta must have '{}', a string", meta::version)};
  }
  const Json* capabilities = member(*about, meta::capabilities);
  if (capabilities == nullptr || !capabilities->is_object()) {
    throw ProtocolError{code::invalid_params,
                        fmt::format("params._meta must have '{}', an object", meta::capabilities)};
  }
  if (*version != modern_version) {
    const std::string requested = shown(version->get_ref<const std::string&>());
    throw ProtocolError{code::unsupported_version,
                        fmt::format("the version '{}' is not spoken here", requested),
                        {{"supported", supported_versions()}, {"requested", requested}}};
  }
  return {Era::modern, *capabilities};
}

}  // namespace cloche::mcp
