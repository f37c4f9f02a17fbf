// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/bodies.h"

#include <fmt/format.h>

#include <charconv>

#include "base/json.h"
#include "base/result.h"
#include "doors/rest/replies.h"
#include "doors/ssh/public_key.h"
#include "sandbox/options/option_json.h"

namespace cloche::rest {
namespace {

using Object = OrderedJson;  // metadata is told as it came

constexpr std::int64_t ttl_min_s = 60;
constexpr std::int64_t ttl_max_s = 28'800;
constexpr std::int64_t ttl_default_s = 3600;
constexpr std::int64_t timeout_max_s = 300;
constexpr std::size_t metadata_max_bytes = 64 << 10;
constexpr std::size_t image_max_bytes = 1024;

Result<Object, http::Response> read_object(std::string_view body) {
  auto read = read_json<Object>(body, {});
  const auto* problem = std::get_if<JsonProblem>(&read);
  if (problem && problem->kind == JsonProblem::Kind::beyond_bounds)
    return error(400, "INVALID_REQUEST", problem->sentence);
  if (problem)
    return error(400, "INVALID_REQUEST", "the body must be a JSON object: " + problem->sentence);
  if (!std::get<Object>(read).is_object())
    return error(400, "INVALID_REQUEST", "the body must be a JSON object");
  return std::get<Object>(std::move(read));
}

http::Response invalid(std::string_view message) {
  return error(400, "INVALID_PARAMETER", message);
}

// A member that is there and not null.
const Object* member(const Object& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

// A whole number that fits, or nothing.
std::optional<std::int64_t> whole(const Object& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

std::optional<http::Response> read_timeout(const Object& body, CommandBody& to) {
  const Object* timeout = member(body, "timeout");
  if (!timeout) return std::nullopt;
  const auto seconds = whole(*timeout);
  if (!seconds || *seconds < 1 || *seconds > timeout_max_s)
    return invalid("timeout must be a whole number of seconds from 1 to 300");
  to.timeout = std::chrono::seconds(*seconds);
  return std::nullopt;
}

std::optional<http::Response> read_environment(const Object& body, CommandBody& to) {
  const Object* environment = member(body, "env");
  if (!environment) return std::nullopt;
  if (!environment->is_object()) return invalid("env must be an object of strings");
  for (const auto& [name, value] : environment->items()) {
    if (!value.is_string() || name.empty() || name.find('=') != std::string::npos ||
        has_nul(name) || has_nul(value.get_ref<const std::string&>()))
      return invalid("env must be an object of strings, its names without '='");
    to.environment[name] = value.get<std::string>();
  }
  return std::nullopt;
}

std::optional<http::Response> read_folder(const Object& body, CommandBody& to) {
  const Object* folder = member(body, "cwd");
  if (!folder) return std::nullopt;
  if (!folder->is_string() || has_nul(folder->get_ref<const std::string&>()))
    return invalid("cwd must be a path");
  to.folder = folder->get<std::string>();
  return std::nullopt;
}

std::optional<http::Response> read_source(const Object& body, const char* name, CommandBody& to) {
  const Object* source = member(body, name);
  if (!source || !source->is_string())
    return invalid(std::string(name) + " is required, as a string");
  to.source = source->get<std::string>();
  if (to.source.empty()) return invalid(std::string(name) + " must not be empty");
  if (has_nul(to.source)) return invalid(std::string(name) + " must not have a NUL");
  return std::nullopt;
}

}  // namespace

Checked<CreateBody> read_create(std::string_view body) {
  CreateBody create;
  session::SessionRequest& request = create.request;
  request.ttl = std::chrono::seconds(ttl_default_s);
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return create;
  const auto read = read_object(body);
  if (!read) return read.error();
  const Object& json = *read;
  if (const Object* ttl = member(json, "ttl")) {
    const auto seconds = whole(*ttl);
    if (!seconds || *seconds < ttl_min_s || *seconds > ttl_max_s) {
      return error(400, "INVALID_TTL", "ttl must be a whole number of seconds from 60 to 28800");
    }
    request.ttl = std::chrono::seconds(*seconds);
  }
  if (const Object* image = member(json, "image")) {
    if (!image->is_string() || image->get_ref<const std::string&>().size() > image_max_bytes)
      return invalid("image must be a string");
    request.image = image->get<std::string>();
  }
  if (const Object* metadata = member(json, "metadata")) {
    if (!metadata->is_object()) return invalid("metadata must be an object");
    request.metadata = write_json(*metadata);
    if (request.metadata.size() > metadata_max_bytes)
      return invalid("metadata must be smaller than 64 KiB");
  }
  if (const Object* key = member(json, "sshPublicKey")) {
    if (!key->is_string() || !ssh::is_public_key(key->get_ref<const std::string&>())) {
      return invalid(
          "sshPublicKey must be a line as in an OpenSSH .pub file: ssh-ed25519, ecdsa-sha2-nistp*, "
          "or ssh-rsa");
    }
    request.ssh_public_key = key->get<std::string>();
  }
  if (const Object* wish = member(json, "sandbox")) {
    if (!wish->is_object())
      return invalid("sandbox must be an object: docs/options.md has its members");
    create.wish = Json(*wish);
    request.wish = write_json(*create.wish);
  }
  const Json misplaced = sandbox::option_members(Json(json));
  for (const auto& [name, value] : misplaced.items()) {
    if (name == "image" || value.is_null()) continue;
    return invalid(
        fmt::format(R"('{0}' is a member of sandbox: {{"sandbox": {{"{0}": ...}}}})", name));
  }
  return create;
}

Checked<CommandBody> read_command(std::string_view body) {
  const auto read = read_object(body);
  if (!read) return read.error();
  const Object& json = *read;
  CommandBody command;
  if (auto wrong = read_source(json, "command", command)) return *std::move(wrong);
  if (auto wrong = read_timeout(json, command)) return *std::move(wrong);
  if (auto wrong = read_environment(json, command)) return *std::move(wrong);
  if (auto wrong = read_folder(json, command)) return *std::move(wrong);
  return command;
}

Checked<CommandBody> read_code(std::string_view body) {
  const auto read = read_object(body);
  if (!read) return read.error();
  const Object& json = *read;
  CommandBody command;
  if (auto wrong = read_source(json, "code", command)) return *std::move(wrong);
  command.language = sandbox::Language::python;
  if (const Object* given = member(json, "language")) {
    const auto language = given->is_string()
                              ? sandbox::language_named(given->get_ref<const std::string&>())
                              : std::nullopt;
    if (!language) return invalid("language must be python, javascript or bash");
    command.language = *language;
  }
  if (auto wrong = read_timeout(json, command)) return *std::move(wrong);
  if (auto wrong = read_environment(json, command)) return *std::move(wrong);
  if (auto wrong = read_folder(json, command)) return *std::move(wrong);
  return command;
}

Checked<PageQuery> read_page_query(std::string_view query, std::size_t limit_max) {
  PageQuery page;
  for (const auto& [name, value] : http::query_pairs(query)) {
    if (name != "limit" && name != "offset") continue;
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_number = problem == std::errc() && end == value.data() + value.size();
    if (name == "limit") {
      if (!is_number || number < 1 || number > limit_max)
        return error(400, "INVALID_LIMIT", "limit must be a whole number from 1 to 100");
      page.limit = static_cast<std::size_t>(number);
    } else {
      if (!is_number) return invalid("offset must be a whole number from 0 on");
      page.offset = static_cast<std::size_t>(number);
    }
  }
  return page;
}

}  // namespace cloche::rest
