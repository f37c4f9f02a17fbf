// SPDX-License-Identifier: Apache-2.0
// Sandboxes, snapshots and templates by REST.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "doors/e2b/e2b_door.h"
#include "doors/e2b/rest_wire.h"
#include "doors/e2b/target.h"

namespace cloche::e2b {
namespace {

constexpr Seconds timeout_now{300};
constexpr Seconds timeout_before{15};  // of the routes that older clients ask
constexpr std::size_t metrics_ids_max = 100;
constexpr std::int64_t forks_max = 20;
constexpr Seconds metrics_slack{60};

http::Response no_box(std::string_view id) {
  return rest_error(404, fmt::format("there is no sandbox {}", id));
}

http::Response no_such_address() { return rest_error(404, "there is nothing at this address"); }

http::Response list_answer(const OrderedJson& items) {
  return http::json_response(200, write_json(items));
}

// What comes after the folder and its '/'; nothing where the path is not below it.
std::optional<std::string_view> below(std::string_view path, std::string_view folder) {
  if (!path.starts_with(folder)) return std::nullopt;
  path.remove_prefix(folder.size());
  if (path.empty()) return path;
  if (path.front() != '/') return std::nullopt;
  return path.substr(1);
}

template <typename T>
http::Response* wrong_of(std::variant<T, http::Response>& read) {
  return std::get_if<http::Response>(&read);
}

Checked<std::int64_t> seconds_in(const http::Request& request, std::string_view name,
                                 std::int64_t otherwise) {
  const auto text = query_value(request, name);
  if (!text || text->empty()) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size())
    return rest_error(400, fmt::format("{} must be a time in whole seconds since 1970", name));
  return value;
}

}  // namespace

http::Response E2bDoor::rest(const std::string& owner, const http::Request& request) {
  const std::string_view path = request.path;
  const bool is_get = request.method == "GET";
  const bool is_post = request.method == "POST";
  if (path == "/snapshots") return is_get ? list_snapshots(owner, request) : not_allowed("GET");
  if (TemplateRoutes::is_mine(path)) {
    const auto id = below(path, "/templates");
    const bool is_one = id && !id->empty() && id->find('/') == id->npos && *id != "tags";
    if (is_one && request.method == "DELETE" &&
        parts_.boxes.remove_snapshot(owner, http::percent_decode(*id)))
      return no_content();
    return template_routes_.answer(owner, request);
  }
  auto rest = below(path, "/v2/sandboxes");
  const bool is_new = rest.has_value();
  if (!rest) rest = below(path, "/sandboxes");
  if (!rest) rest = below(path, "/v3/sandboxes");
  if (!rest) return rest_error(501, "this server has no volumes or secrets");
  if (rest->empty()) {
    if (is_post) return create(owner, request, is_new ? timeout_now : timeout_before);
    if (is_get) return list(owner, request);
    return not_allowed("GET, POST");
  }
  if (*rest == "metrics" && is_get) return metrics_of_many(owner, request);
  const std::size_t slash = std::min(rest->find('/'), rest->size());
  const std::string id = http::percent_decode(rest->substr(0, slash));
  const std::string_view action = rest->substr(std::min(slash + 1, rest->size()));
  // Older clients say ID-CLIENT.
  const BoxPtr box = parts_.boxes.find(id.substr(0, id.find('-')), owner);
  if (!box) return no_box(id);
  return of_box(box, action, request);
}

std::string E2bDoor::created_json(const Box& box) const {
  OrderedJson json;
  json["templateID"] = box.wish.template_id;
  json["sandboxID"] = box.id;
  json["clientID"] = "cloche";
  json["alias"] = box.alias;
  json["envdVersion"] = listed_json(box)["envdVersion"];
  if (!box.agent_token.empty()) {
    json["envdAccessToken"] = box.agent_token;
    json["trafficAccessToken"] = box.traffic_token;
  }
  json["domain"] = options_.domain.empty() ? OrderedJson() : OrderedJson(options_.domain);
  return write_json(json);
}

http::Response E2bDoor::create(const std::string& owner, const http::Request& request,
                               Seconds timeout) {
  auto read = read_create(request.body, timeout);
  if (auto* wrong = wrong_of(read)) return std::move(*wrong);
  auto& wish = std::get<BoxWish>(read);
  if (!wish.is_secure && options_.secrecy == DoorOptions::Secrecy::always)
    return rest_error(400, "this server makes no sandboxes with secure: false");
  auto rules = rules_within(wish.network, parts_.boxes.options(), parts_.boxes.grants());
  if (const auto* refusal = std::get_if<NetworkRefusal>(&rules))
    return rest_error(400, refusal->sentence);
  wish.allow = std::get<0>(std::move(rules));
  if (auto built = templates_.resolve(owner, wish.template_id)) {
    wish.template_id = std::move(built->id);
    wish.alias = std::move(built->name);
    wish.snapshot_id = std::move(built->snapshot_id);
  } else if (parts_.boxes.template_name(owner, wish.template_id).empty()) {
    return rest_error(404,
                      fmt::format("the template '{}' was not found: say base, code-interpreter-v1, "
                                  "the name of one that was built or the id of a snapshot",
                                  wish.template_id));
  }
  const auto make = [&]() -> http::Response {
    auto made = parts_.boxes.create(owner, std::move(wish));
    if (const auto* denial = std::get_if<Denial>(&made))
      return rest_error(denial->status, denial->sentence);
    return http::json_response(201, created_json(*std::get<BoxPtr>(made)));
  };
  const std::string_view key = request.field("Idempotency-Key");
  return key.empty() ? make() : requests_.once(owner, key, request.body, make);
}

http::Response E2bDoor::list(const std::string& owner, const http::Request& request) {
  auto read = read_list_query(request.query);
  if (auto* wrong = wrong_of(read)) return std::move(*wrong);
  auto& query = std::get<ListQuery>(read);
  const bool is_new = request.path.starts_with("/v2/");
  if (!is_new) query.paused = false;
  std::vector<BoxPtr> boxes = parts_.boxes.list(owner);
  const auto running = std::ranges::count_if(
      boxes, [](const BoxPtr& box) { return box->session->status() == session::Status::running; });
  if (!query.ascending) std::ranges::reverse(boxes);
  OrderedJson items = OrderedJson::array();
  std::uint64_t last = 0;
  bool more = false;
  for (const BoxPtr& box : boxes) {
    const auto& facts = box->session->facts();
    const auto status = box->session->status();
    if (status == session::Status::closed) continue;
    if (!(status == session::Status::paused ? query.paused : query.running)) continue;
    if (query.after != 0 &&
        (query.ascending ? facts.sequence <= query.after : facts.sequence >= query.after))
      continue;
    if (!query.template_id.empty() && query.template_id != box->wish.template_id &&
        query.template_id != box->alias)
      continue;
    if (query.started_after_ms &&
        std::chrono::duration_cast<std::chrono::milliseconds>(facts.created.time_since_epoch())
                .count() < *query.started_after_ms)
      continue;
    const bool matches = std::ranges::all_of(query.metadata, [&](const auto& wanted) {
      const auto found = box->wish.metadata.find(wanted.first);
      return found != box->wish.metadata.end() && found->second == wanted.second;
    });
    if (!matches) continue;
    if (items.size() == query.limit) {
      more = true;
      break;
    }
    items.push_back(listed_json(*box));
    last = facts.sequence;
  }
  http::Response answer = list_answer(items);
  if (is_new) {
    answer.fields.emplace_back("X-Total-Running", std::to_string(running));
    if (more) answer.fields.emplace_back("X-Next-Token", std::to_string(last));
  }
  return answer;
}

http::Response E2bDoor::list_snapshots(const std::string& owner, const http::Request& request) {
  auto read = read_list_query(request.query);
  if (auto* wrong = wrong_of(read)) return std::move(*wrong);
  const auto& query = std::get<ListQuery>(read);
  const std::string box_id = query_value(request, "sandboxID").value_or("");
  const std::string name = query_value(request, "name").value_or("");
  OrderedJson items = OrderedJson::array();
  std::uint64_t last = 0;
  bool more = false;
  for (const Snapshot& snapshot : parts_.boxes.snapshots(owner)) {
    if (!box_id.empty() && snapshot.box_id != box_id) continue;
    if (!name.empty() && std::ranges::count(snapshot.names, name) == 0) continue;
    if (query.after != 0 && snapshot.sequence >= query.after) continue;
    if (items.size() == query.limit) {
      more = true;
      break;
    }
    items.push_back({{"snapshotID", snapshot.id}, {"names", snapshot.names}});
    last = snapshot.sequence;
  }
  http::Response answer = list_answer(items);
  if (more) answer.fields.emplace_back("X-Next-Token", std::to_string(last));
  return answer;
}

http::Response E2bDoor::metrics_of_many(const std::string& owner, const http::Request& request) {
  std::string ids;
  for (const auto& [name, value] : http::query_pairs(request.query)) {
    if (name == "sandbox_ids") ids += (ids.empty() ? "" : ",") + value;
  }
  OrderedJson found = OrderedJson::object();
  std::size_t count = 0;
  for (std::size_t at = 0; at < ids.size() && count < metrics_ids_max; ++count) {
    const std::size_t end = std::min(ids.find(',', at), ids.size());
    if (const BoxPtr box = parts_.boxes.find(ids.substr(at, end - at), owner))
      found[box->id] = metrics_json(*box);
    at = end + 1;
  }
  return http::json_response(200, write_json(OrderedJson{{"sandboxes", found}}));
}

// What is now: nothing of a time before that, or of one that is to come.
http::Response E2bDoor::metrics(Box& box, const http::Request& request) {
  const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  OrderedJson items = OrderedJson::array();
  auto start = seconds_in(request, "start", 0);
  auto end = seconds_in(request, "end", now);
  for (auto* read : {&start, &end}) {
    if (auto* wrong = wrong_of(*read)) return std::move(*wrong);
  }
  // A client's clock, and its rounding, may be behind.
  if (std::get<std::int64_t>(start) <= now &&
      std::get<std::int64_t>(end) >= now - metrics_slack.count())
    items.push_back(metrics_json(box));
  return list_answer(items);
}

http::Response E2bDoor::details(Box& box) {
  OrderedJson json = listed_json(box);
  if (!box.agent_token.empty()) json["envdAccessToken"] = box.agent_token;
  json["domain"] = options_.domain.empty() ? OrderedJson() : OrderedJson(options_.domain);
  {
    const MutexLock lock(box.mutex);
    json["allowInternetAccess"] = box.has_network;
    json["network"] = box.network;
  }
  json["lifecycle"] = {{"autoResume", box.wish.auto_resume},
                       {"onTimeout", box.wish.auto_pause ? "pause" : "kill"}};
  json["volumeMounts"] = OrderedJson::array();
  return http::json_response(200, write_json(json));
}

http::Response E2bDoor::of_box(const BoxPtr& box, std::string_view action,
                               const http::Request& request) {
  const bool is_get = request.method == "GET";
  if (action.empty() && request.method == "DELETE")
    return parts_.boxes.close(box->id, box->owner) ? no_content() : no_box(box->id);
  if (action.empty() && is_get) return details(*box);
  if (action == "metrics" && is_get) return metrics(*box, request);
  if (action == "logs" && is_get) {
    const bool is_new = request.path.starts_with("/v2/");
    return http::json_response(200, is_new ? R"({"logs":[]})" : R"({"logs":[],"logEntries":[]})");
  }
  if (action == "network" && request.method == "PUT") return set_network(box, request);
  static constexpr std::array<std::string_view, 7> known{
      "timeout", "refreshes", "pause", "connect", "resume", "fork", "snapshots"};
  if (std::ranges::count(known, action) == 0) return no_such_address();
  if (request.method != "POST") return not_allowed("POST");
  if (action == "connect" || action == "resume") return connect(box, action, request);
  if (action == "fork") return fork(box, request);
  if (action == "snapshots") return snapshot(box, request);
  return action == "pause" ? pause(box, request) : set_timeout(box, action, request);
}

http::Response E2bDoor::pause(const BoxPtr& box, const http::Request& request) {
  auto body = read_body(request.body);
  if (auto* wrong = wrong_of(body)) return std::move(*wrong);
  auto memory = read_truth(std::get<Json>(body), "memory", true);
  if (auto* wrong = wrong_of(memory)) return std::move(*wrong);
  using Ending = session::SessionManager::Processes;
  const Ending processes = std::get<bool>(memory) ? Ending::stop : Ending::end;
  const session::Change paused = parts_.boxes.pause(box, processes);
  if (paused) return no_content();
  return paused.saved
             ? rest_error(409, fmt::format("sandbox {} is paused already", box->id))
             : rest_error(500, fmt::format("sandbox {} cannot be paused: it runs on", box->id));
}

http::Response E2bDoor::set_timeout(const BoxPtr& box, std::string_view action,
                                    const http::Request& request) {
  auto body = read_body(request.body);
  if (auto* wrong = wrong_of(body)) return std::move(*wrong);
  if (box->session->status() == session::Status::paused)
    return rest_error(409,
                      fmt::format("sandbox {} is paused: connect to it, with a timeout", box->id));
  const bool is_refresh = action == "refreshes";
  auto seconds = read_seconds(std::get<Json>(body), is_refresh ? "duration" : "timeout",
                              is_refresh ? timeout_before : timeout_now);
  if (auto* wrong = wrong_of(seconds)) return std::move(*wrong);
  parts_.boxes.set_timeout(box, std::get<Seconds>(seconds),
                           is_refresh ? Boxes::Change::lengthen : Boxes::Change::set);
  return no_content();
}

http::Response E2bDoor::connect(const BoxPtr& box, std::string_view action,
                                const http::Request& request) {
  const bool only_resume = action == "resume";
  auto body = read_body(request.body);
  if (auto* wrong = wrong_of(body)) return std::move(*wrong);
  auto timeout =
      read_seconds(std::get<Json>(body), "timeout", only_resume ? timeout_before : timeout_now);
  if (auto* wrong = wrong_of(timeout)) return std::move(*wrong);
  if (parts_.boxes.resume(box, std::get<Seconds>(timeout)))
    return http::json_response(201, created_json(*box));
  if (box->session->status() == session::Status::closed) return no_box(box->id);
  if (only_resume) return rest_error(409, fmt::format("sandbox {} is running already", box->id));
  parts_.boxes.set_timeout(box, std::get<Seconds>(timeout), Boxes::Change::lengthen);
  return http::json_response(200, created_json(*box));
}

http::Response E2bDoor::fork(const BoxPtr& box, const http::Request& request) {
  auto body = read_body(request.body);
  if (auto* wrong = wrong_of(body)) return std::move(*wrong);
  auto count = read_count(std::get<Json>(body), "count", 1, forks_max, 1);
  if (auto* wrong = wrong_of(count)) return std::move(*wrong);
  auto timeout = read_seconds(std::get<Json>(body), "timeout", timeout_before);
  if (auto* wrong = wrong_of(timeout)) return std::move(*wrong);
  OrderedJson items = OrderedJson::array();
  for (const auto& made :
       parts_.boxes.fork(box, static_cast<std::size_t>(std::get<std::int64_t>(count)),
                         std::get<Seconds>(timeout))) {
    if (const auto* denial = std::get_if<Denial>(&made)) {
      items.push_back({{"error", {{"code", denial->status}, {"message", denial->sentence}}}});
    } else {
      items.push_back({{"sandbox", OrderedJson::parse(created_json(*std::get<BoxPtr>(made)))}});
    }
  }
  return http::json_response(201, write_json(items));
}

http::Response E2bDoor::snapshot(const BoxPtr& box, const http::Request& request) {
  auto body = read_body(request.body);
  if (auto* wrong = wrong_of(body)) return std::move(*wrong);
  auto name = read_text(std::get<Json>(body), "name");
  if (auto* wrong = wrong_of(name)) return std::move(*wrong);
  auto made = parts_.boxes.snapshot(box, std::get<std::string>(name));
  if (const auto* denial = std::get_if<Denial>(&made))
    return rest_error(denial->status, denial->sentence);
  const auto& snapshot = std::get<Snapshot>(made);
  return http::json_response(
      201, write_json(OrderedJson{{"snapshotID", snapshot.id}, {"names", snapshot.names}}));
}

http::Response E2bDoor::set_network(const BoxPtr& box, const http::Request& request) {
  auto body = read_body(request.body);
  if (auto* wrong = wrong_of(body)) return std::move(*wrong);
  auto read = read_network(std::get<Json>(body), std::get<Json>(body));
  if (auto* wrong = wrong_of(read)) return std::move(*wrong);
  const auto denial = parts_.boxes.set_network(box, std::get<NetworkWish>(std::move(read)));
  return denial ? rest_error(denial->status, denial->sentence) : no_content();
}

}  // namespace cloche::e2b
