// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_routes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "doors/e2b/target.h"

namespace cloche::e2b {
namespace {

using Status = TemplateBuild::Status;

constexpr std::size_t tags_asked_max = 50;

std::string_view word_of(Status status) {
  switch (status) {
    case Status::waiting: return "waiting";
    case Status::building: return "building";
    case Status::ready: return "ready";
    case Status::error: return "error";
  }
  return "error";
}

http::Response unknown_template(std::string_view said) {
  return rest_error(404, fmt::format("the template '{}' was not found", said));
}

http::Response refused(const Denial& denial) { return rest_error(denial.status, denial.sentence); }

http::Response json_answer(int status, const OrderedJson& json) {
  return http::json_response(status, write_json(json));
}

// The parts of a path below its folder of templates, decoded.
std::vector<std::string> words_of(std::string_view path) {
  static constexpr std::array<std::string_view, 3> folders{"/v3/templates", "/v2/templates",
                                                           "/templates"};
  for (const std::string_view folder : folders) {
    if (path.starts_with(folder)) {
      path.remove_prefix(folder.size());
      break;
    }
  }
  std::vector<std::string> words;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    words.push_back(http::percent_decode(path.substr(0, end)));
    path.remove_prefix(end);
  }
  return words;
}

Checked<std::vector<std::string>> read_tags(const Json& body) {
  std::vector<std::string> tags;
  const auto given = body.find("tags");
  if (given == body.end() || given->is_null()) return tags;
  if (!given->is_array() || given->size() > tags_asked_max)
    return rest_error(400,
                      fmt::format("tags must be a list of {} strings at most", tags_asked_max));
  for (const Json& tag : *given) {
    if (!tag.is_string()) return rest_error(400, "tags must be a list of strings");
    tags.push_back(tag.get<std::string>());
  }
  return tags;
}

OrderedJson template_json(const Templates::Template& each) {
  const Status status = each.latest ? each.latest->status() : Status::waiting;
  const auto tag = each.tags.find("default");
  const std::string build = tag != each.tags.end() ? tag->second.build_id
                            : each.latest          ? each.latest->id()
                                                   : std::string();
  return {{"templateID", each.id},
          {"buildID", build},
          {"cpuCount", 1},
          {"memoryMB", 1024},
          {"diskSizeMB", 1024},
          {"public", false},
          {"aliases", {each.name}},
          {"names", {each.name}},
          {"createdAt", utc_time(each.created)},
          {"updatedAt", utc_time(each.created)},
          {"createdBy", nullptr},
          {"lastSpawnedAt", nullptr},
          {"spawnCount", 0},
          {"buildCount", each.builds},
          {"envdVersion", agent_version()},
          {"buildStatus", word_of(status)}};
}

}  // namespace

bool TemplateRoutes::is_mine(std::string_view path) {
  return path.starts_with("/templates") || path.starts_with("/v2/templates") ||
         path.starts_with("/v3/templates");
}

bool TemplateRoutes::is_upload(const http::Request& head) {
  if (head.method != "PUT" || !head.path.starts_with("/templates/")) return false;
  const auto words = words_of(head.path);
  return words.size() == 3 && words[1] == "files" && is_files_hash(words[2]);
}

std::optional<std::string> TemplateRoutes::owner_of_upload(const http::Request& head) {
  const auto ticket = query_value(head, "ticket");
  if (!ticket) return std::nullopt;
  return templates_.files().owner_of_ticket(*ticket, words_of(head.path)[2]);
}

http::Response TemplateRoutes::answer(const std::string& owner, const http::Request& request) {
  const Words words = words_of(request.path);
  const bool is_get = request.method == "GET";
  const bool is_post = request.method == "POST";
  if (words.empty()) {
    if (is_post) return request_build(owner, request);
    if (!is_get) return not_allowed("GET, POST");
    OrderedJson items = OrderedJson::array();
    for (const auto& each : templates_.list(owner)) items.push_back(template_json(each));
    return json_answer(200, items);
  }
  if (words[0] == "tags" && words.size() == 1) return tags(owner, request);
  if (words[0] == "aliases" && words.size() == 2 && is_get) {
    const auto found = templates_.find(owner, words[1]);
    // Who asks builds what is not there: one whose build failed is not.
    if (found && found->tags.empty() && found->latest &&
        found->latest->status() == TemplateBuild::Status::error)
      return unknown_template(words[1]);
    const std::string id = found ? found->id : templates_.usual(owner, words[1]);
    if (id.empty()) return unknown_template(words[1]);
    return json_answer(200, {{"templateID", id}, {"public", false}});
  }
  if (words.size() == 3 && words[1] == "files") {
    if (is_get) return address_of_files(owner, words, request);
    if (request.method == "PUT") return take_files(owner, words, request);
  }
  if (words.size() == 3 && words[1] == "builds" && is_post)
    return begin_build(owner, words, request);
  if (words.size() == 4 && words[1] == "builds" && words[3] == "status" && is_get)
    return status(owner, words, request);
  return of_template(owner, words, request);
}

http::Response TemplateRoutes::of_template(const std::string& owner, const Words& words,
                                           const http::Request& request) {
  const auto found = templates_.find(owner, words[0]);
  if (!found) return unknown_template(words[0]);
  if (words.size() == 1 && request.method == "DELETE") {
    templates_.remove(owner, words[0]);
    return no_content();
  }
  if (words.size() == 1 && request.method == "GET") return json_answer(200, template_json(*found));
  if (words.size() == 1 && request.method == "PATCH") return publish(*found, request);
  if (words.size() == 2 && words[1] == "tags" && request.method == "GET") {
    OrderedJson items = OrderedJson::array();
    for (const auto& [name, tag] : found->tags)
      items.push_back(
          {{"tag", name}, {"buildID", tag.build_id}, {"createdAt", utc_time(tag.when)}});
    return json_answer(200, items);
  }
  return rest_error(404, "there is nothing at this address");
}

http::Response TemplateRoutes::publish(const Templates::Template& which,
                                       const http::Request& request) {
  auto body = read_body(request.body);
  if (auto* wrong = std::get_if<http::Response>(&body)) return std::move(*wrong);
  const Json& given = std::get<Json>(body);
  const auto is_public = given.find("public");
  if (is_public != given.end() && !is_public->is_null() && *is_public != false)
    return rest_error(501, "a template is its owner's here: there are no public ones");
  return json_answer(200, {{"names", {which.name}}});
}

http::Response TemplateRoutes::request_build(const std::string& owner,
                                             const http::Request& request) {
  auto body = read_body(request.body);
  if (auto* wrong = std::get_if<http::Response>(&body)) return std::move(*wrong);
  const Json& given = std::get<Json>(body);
  auto name = read_text(given, given.contains("name") ? "name" : "alias");
  if (auto* wrong = std::get_if<http::Response>(&name)) return std::move(*wrong);
  auto tags = read_tags(given);
  if (auto* wrong = std::get_if<http::Response>(&tags)) return std::move(*wrong);
  const auto asked = templates_.request(owner, std::get<std::string>(name),
                                        std::get<std::vector<std::string>>(std::move(tags)));
  if (const auto* denial = std::get_if<Denial>(&asked)) return refused(*denial);
  const auto& made = std::get<Templates::Template>(asked);
  return json_answer(202, {{"templateID", made.id},
                           {"buildID", made.latest->id()},
                           {"public", false},
                           {"names", {made.name}},
                           {"tags", made.asked_tags},
                           {"aliases", {made.name}}});
}

http::Response TemplateRoutes::begin_build(const std::string& owner, const Words& words,
                                           const http::Request& request) {
  auto plan = read_plan(request.body);
  if (auto* wrong = std::get_if<http::Response>(&plan)) return std::move(*wrong);
  if (const auto denial =
          templates_.begin(owner, words[0], words[2], std::get<TemplatePlan>(std::move(plan))))
    return refused(*denial);
  return {202, {}, {}};
}

http::Response TemplateRoutes::status(const std::string& owner, const Words& words,
                                      const http::Request& request) {
  const auto build = templates_.build(owner, words[0], words[2]);
  if (!build) return rest_error(404, "there is no such build, or a later one was asked for");
  const std::string said = query_value(request, "logsOffset").value_or("0");
  std::size_t offset = 0;
  const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), offset);
  if (error != std::errc() || end != said.data() + said.size())
    return rest_error(400, "logsOffset must be a whole number");
  const TemplateBuild::Report report = build->report(offset);
  OrderedJson entries = OrderedJson::array();
  for (const auto& entry : report.entries)
    entries.push_back({{"timestamp", utc_time(entry.when)},
                       {"message", entry.message},
                       {"level", entry.level},
                       {"step", entry.step}});
  OrderedJson json{{"templateID", words[0]},
                   {"buildID", build->id()},
                   {"status", word_of(report.status)},
                   {"logs", OrderedJson::array()},
                   {"logEntries", std::move(entries)}};
  if (report.status == Status::error)
    json["reason"] = {{"message", report.failure}, {"step", report.step}};
  return json_answer(200, json);
}

http::Response TemplateRoutes::address_of_files(const std::string& owner, const Words& words,
                                                const http::Request& request) {
  if (!templates_.find(owner, words[0])) return unknown_template(words[0]);
  if (!is_files_hash(words[2]))
    return rest_error(400, "the hash of files is a SHA-256 in lower case");
  const bool is_present = templates_.files().find(owner, words[2]) != nullptr;
  const bool is_secure =
      request.secure || http::same_text(request.field("X-Forwarded-Proto"), "https");
  return json_answer(
      201, {{"present", is_present},
            {"url", fmt::format("{}://{}/templates/{}/files/{}?ticket={}",
                                is_secure ? "https" : "http", request.field("Host"), words[0],
                                words[2], templates_.files().make_ticket(owner, words[2]))}});
}

http::Response TemplateRoutes::take_files(const std::string& owner, const Words& words,
                                          const http::Request& request) {
  if (templates_.files().keep(owner, words[2], request.body)) return {200, {}, {}};
  return rest_error(429, "there is no room for files of templates now: build what was sent first");
}

http::Response TemplateRoutes::tags(const std::string& owner, const http::Request& request) {
  auto body = read_body(request.body);
  if (auto* wrong = std::get_if<http::Response>(&body)) return std::move(*wrong);
  const Json& given = std::get<Json>(body);
  auto tags = read_tags(given);
  if (auto* wrong = std::get_if<http::Response>(&tags)) return std::move(*wrong);
  const auto& names = std::get<std::vector<std::string>>(tags);
  const bool adds = request.method == "POST";
  auto said = read_text(given, adds ? "target" : "name");
  if (auto* wrong = std::get_if<http::Response>(&said)) return std::move(*wrong);
  const auto& name = std::get<std::string>(said);
  if (!adds) {
    if (request.method != "DELETE") return not_allowed("POST, DELETE");
    return templates_.remove_tags(owner, name, names) ? no_content() : unknown_template(name);
  }
  if (names.empty()) return rest_error(400, "tags are required");
  const auto tag = templates_.add_tags(owner, name, names);
  if (!tag) return unknown_template(name);
  return json_answer(201, {{"tags", names}, {"buildID", tag->build_id}});
}

}  // namespace cloche::e2b
