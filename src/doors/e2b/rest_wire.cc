// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/rest_wire.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <ctime>

#include "base/json_string.h"
#include "doors/e2b/server_request.h"

namespace cloche::e2b {
namespace {

constexpr std::int64_t timeout_max_s = 86'400;
constexpr std::size_t entries_max = 256;  // of metadata, of envVars, of rules
constexpr std::size_t texts_max_bytes = 64 << 10;
constexpr std::uint64_t mib = 1 << 20;

const Json* member_of(const Json& body, const char* name) {
  const auto found = body.find(name);
  return found == body.end() || found->is_null() ? nullptr : &*found;
}

http::Response bad(std::string_view message) { return rest_error(400, message); }

Checked<std::map<std::string, std::string>> read_texts(const Json& body, const char* name) {
  std::map<std::string, std::string> texts;
  const Json* given = member_of(body, name);
  if (!given) return texts;
  const std::string fault = fmt::format("{} must be an object of strings", name);
  if (!given->is_object()) return bad(fault);
  std::size_t bytes = 0;
  for (const auto& [key, value] : given->items()) {
    if (!value.is_string()) return bad(fault);
    bytes += key.size() + value.get_ref<const std::string&>().size();
    texts[key] = value.get<std::string>();
  }
  if (texts.size() > entries_max || bytes > texts_max_bytes)
    return bad(fmt::format("{} must have {} entries and 64 KiB at most", name, entries_max));
  return texts;
}

bool is_variable(const std::string& name, const std::string& value) {
  return !name.empty() && name.find('=') == std::string::npos &&
         name.find('\0') == std::string::npos && value.find('\0') == std::string::npos;
}

bool is_everything(std::string_view rule) {
  return rule == "0.0.0.0/0" || rule == "::/0" || rule == "*";
}

Checked<std::vector<std::string>> read_rules(const Json& network, const char* name) {
  std::vector<std::string> rules;
  const Json* given = member_of(network, name);
  if (!given) return rules;
  const std::string fault = fmt::format("{} must be a list of names, addresses or ranges", name);
  if (!given->is_array() || given->size() > entries_max) return bad(fault);
  for (const Json& each : *given) {
    if (!each.is_string() || each.get_ref<const std::string&>().empty()) return bad(fault);
    rules.push_back(is_everything(each.get_ref<const std::string&>()) ? "*"
                                                                      : each.get<std::string>());
  }
  return rules;
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Of a number of milliseconds, or a time as RFC 3339 has it; without an offset it is UTC.
std::optional<std::int64_t> milliseconds_of(const std::string& text) {
  if (const auto number = number_of<std::int64_t>(text)) return number;
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest) return std::nullopt;
  std::int64_t ms = std::int64_t{::timegm(&parts)} * 1000;
  if (*rest == '.') {
    ++rest;
    for (std::int64_t unit = 100; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10)
      ms += unit * (*rest - '0');
  }
  if (*rest == '\0') return ms;
  std::tm zone{};
  rest = ::strptime(rest, "%z", &zone);
  if (!rest || *rest != '\0') return std::nullopt;
  return ms - std::int64_t{zone.tm_gmtoff} * 1000;
}

}  // namespace

http::Response rest_error(int status, std::string_view message) {
  http::Response response = http::json_response(
      status, fmt::format(R"({{"code":{},"message":{}}})", status, json_string(message)));
  if (status == 429 || status == 503) {
    response.fields.emplace_back("Retry-After", "5");
    response.fields.emplace_back("Should-Retry", "true");
  }
  return response;
}

http::Response not_allowed(std::string_view methods) {
  return http::with_allow(rest_error(405, "this address does not take that method"), methods);
}

std::string_view agent_version() { return "0.6.13"; }

http::Response no_content() { return {204, {}, {}}; }

Checked<Json> read_body(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return Json::object();
  auto read = read_json<Json>(body, {.repeated = RepeatedNames::last_wins});
  if (auto* problem = std::get_if<JsonProblem>(&read))
    return bad("the body must be JSON: " + problem->sentence);
  if (!std::get<Json>(read).is_object()) return bad("the body must be a JSON object");
  return std::get<Json>(std::move(read));
}

Checked<std::int64_t> read_count(const Json& body, const char* name, std::int64_t least,
                                 std::int64_t most, std::int64_t otherwise) {
  const Json* given = member_of(body, name);
  if (!given) return otherwise;
  const bool fits = given->is_number_integer() &&
                    (!given->is_number_unsigned() ||
                     given->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (!fits || given->get<std::int64_t>() < least || given->get<std::int64_t>() > most)
    return bad(fmt::format("{} must be a whole number from {} to {}", name, least, most));
  return given->get<std::int64_t>();
}

Checked<Seconds> read_seconds(const Json& body, const char* name, Seconds otherwise) {
  auto read = read_count(body, name, 0, timeout_max_s, otherwise.count());
  if (auto* wrong = std::get_if<http::Response>(&read)) return std::move(*wrong);
  return Seconds(std::get<std::int64_t>(read));
}

Checked<bool> read_truth(const Json& body, const char* name, bool otherwise) {
  const Json* given = member_of(body, name);
  if (!given) return otherwise;
  if (!given->is_boolean()) return bad(fmt::format("{} must be true or false", name));
  return given->get<bool>();
}

Checked<std::string> read_text(const Json& body, const char* name) {
  const Json* given = member_of(body, name);
  if (!given) return std::string();
  if (!given->is_string() || given->get_ref<const std::string&>().size() > 1024)
    return bad(fmt::format("{} must be a string", name));
  return given->get<std::string>();
}

bool is_host_pattern(std::string_view text) {
  static constexpr std::string_view others = "-._:[]";
  constexpr std::size_t most = 255;
  while (!text.empty() && text.size() <= most) {
    if (text.starts_with(port_in_host)) {
      text.remove_prefix(port_in_host.size());
      continue;
    }
    const char c = text.front();
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_word && others.find(c) == others.npos) return false;
    text.remove_prefix(1);
  }
  return text.empty();
}

// What is not supported is refused, so that nobody relies on it.
Checked<NetworkWish> read_network(const Json& network, const Json& body) {
  NetworkWish wish;
  if (!network.is_object()) return bad("network must be an object");
  auto internet = read_truth(body, "allow_internet_access", true);
  if (auto* wrong = std::get_if<http::Response>(&internet)) return std::move(*wrong);
  wish.allow_internet_access = std::get<bool>(internet);
  wish.given = OrderedJson::parse(write_json(network));
  for (const char* name : {"rules", "egressProxy", "httpsPorts", "dnsServers"}) {
    const Json* given = member_of(network, name);
    if (given && !given->empty())
      return bad(fmt::format("network.{} is not supported: allowOut opens the network", name));
  }
  for (const auto& [name, rules] : {std::pair("allowOut", &wish.allow), {"denyOut", &wish.deny}}) {
    auto read = read_rules(network, name);
    if (auto* wrong = std::get_if<http::Response>(&read)) return std::move(*wrong);
    *rules = std::get<0>(std::move(read));
  }
  if (member_of(network, "allowPublicTraffic")) {
    auto is_public = read_truth(network, "allowPublicTraffic", true);
    if (auto* wrong = std::get_if<http::Response>(&is_public)) return std::move(*wrong);
    wish.allow_public_traffic = std::get<bool>(is_public);
  }
  if (member_of(network, "maskRequestHost")) {
    auto host = read_text(network, "maskRequestHost");
    if (auto* wrong = std::get_if<http::Response>(&host)) return std::move(*wrong);
    wish.mask_request_host = std::get<std::string>(std::move(host));
    if (!is_host_pattern(*wish.mask_request_host))
      return bad("network.maskRequestHost must be a name or an address, ${PORT} for the port");
  }
  return wish;
}

Checked<BoxWish> read_create(std::string_view text, Seconds timeout) {
  auto read = read_body(text);
  if (auto* wrong = std::get_if<http::Response>(&read)) return std::move(*wrong);
  const Json& body = std::get<Json>(read);
  for (const char* name : {"mcp", "iam", "volumeMounts"}) {
    const Json* given = member_of(body, name);
    if (given && !given->empty())
      return rest_error(501, fmt::format("{} is not supported by this server", name));
  }
  BoxWish wish;
  auto name = read_text(body, "templateID");
  if (auto* wrong = std::get_if<http::Response>(&name)) return std::move(*wrong);
  wish.template_id = std::get<std::string>(std::move(name));
  if (wish.template_id.empty()) return bad("templateID is required");
  auto time = read_seconds(body, "timeout", timeout);
  if (auto* wrong = std::get_if<http::Response>(&time)) return std::move(*wrong);
  wish.timeout = std::get<Seconds>(time);
  auto metadata = read_texts(body, "metadata");
  if (auto* wrong = std::get_if<http::Response>(&metadata)) return std::move(*wrong);
  wish.metadata = std::get<0>(std::move(metadata));
  auto variables = read_texts(body, "envVars");
  if (auto* wrong = std::get_if<http::Response>(&variables)) return std::move(*wrong);
  wish.environment = std::get<0>(std::move(variables));
  for (const auto& [variable, value] : wish.environment) {
    if (!is_variable(variable, value))
      return bad("envVars must be an object of strings, its names without '='");
  }
  const std::pair<const char*, bool*> truths[] = {{"secure", &wish.is_secure},
                                                  {"autoPause", &wish.auto_pause}};
  for (const auto& [truth, to] : truths) {
    auto given = read_truth(body, truth, *to);
    if (auto* wrong = std::get_if<http::Response>(&given)) return std::move(*wrong);
    *to = std::get<bool>(given);
  }
  auto memory = read_truth(body, "autoPauseMemory", true);
  if (auto* wrong = std::get_if<http::Response>(&memory)) return std::move(*wrong);
  wish.auto_pause_processes = std::get<bool>(memory) ? session::SessionManager::Processes::stop
                                                     : session::SessionManager::Processes::end;
  if (const Json* resume = member_of(body, "autoResume")) {
    if (!resume->is_object()) return bad("autoResume must be an object");
    auto enabled = read_truth(*resume, "enabled", false);
    if (auto* wrong = std::get_if<http::Response>(&enabled)) return std::move(*wrong);
    wish.auto_resume = std::get<bool>(enabled);
  }
  const Json* network = member_of(body, "network");
  auto asked = read_network(network ? *network : Json::object(), body);
  if (auto* wrong = std::get_if<http::Response>(&asked)) return std::move(*wrong);
  wish.network = std::get<NetworkWish>(std::move(asked));
  return wish;
}

Checked<ListQuery> read_list_query(std::string_view query) {
  ListQuery wanted;
  for (const auto& [name, value] : http::query_pairs(query)) {
    if (name == "metadata") {
      // A form within the form, its names and values encoded once more.
      for (auto& [key, text] : http::query_pairs(value))
        wanted.metadata[http::percent_decode(key)] = http::percent_decode(text);
    } else if (name == "state") {
      wanted.running = value.find("running") != std::string::npos;
      wanted.paused = value.find("paused") != std::string::npos;
      if (!wanted.running && !wanted.paused) return bad("state must be running, paused or both");
    } else if (name == "limit") {
      const auto limit = number_of<std::size_t>(value);
      if (!limit || *limit < 1 || *limit > 100)
        return bad("limit must be a whole number from 1 to 100");
      wanted.limit = *limit;
    } else if (name == "nextToken" && !value.empty()) {
      const auto after = number_of<std::uint64_t>(value);
      if (!after) return bad("nextToken is not one that this server has given");
      wanted.after = *after;
    } else if (name == "order") {
      if (value != "asc" && value != "desc") return bad("order must be asc or desc");
      wanted.ascending = value == "asc";
    } else if (name == "startedAfter") {
      wanted.started_after_ms = milliseconds_of(value);
      if (!wanted.started_after_ms) return bad("startedAfter must be a time");
    } else if (name == "template") {
      wanted.template_id = value;
    }
  }
  return wanted;
}

std::string utc_time(session::WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), ms);
}

OrderedJson listed_json(const Box& box) {
  OrderedJson json;
  json["templateID"] = box.wish.template_id;
  json["alias"] = box.alias;
  json["sandboxID"] = box.id;
  json["clientID"] = "cloche";
  json["startedAt"] = utc_time(box.session->facts().created);
  {
    const MutexLock lock(box.mutex);
    json["endAt"] = utc_time(box.ends.wall);
  }
  json["cpuCount"] = box.limits.cpus;
  json["memoryMB"] = box.limits.memory_bytes / mib;
  json["diskSizeMB"] = box.limits.file_bytes / mib;
  json["state"] = box.session->status() == session::Status::paused ? "paused" : "running";
  json["envdVersion"] = agent_version();
  json["metadata"] = box.wish.metadata;
  return json;
}

OrderedJson metrics_json(Box& box) {
  SandboxUsage usage;
  if (const auto use = session::Session::use(box.session)) usage = use->usage();
  const auto now = std::chrono::steady_clock::now();
  const double cpu_seconds = std::chrono::duration<double>(usage.cpu).count();
  double used_pct = 0;
  {
    const MutexLock lock(box.mutex);
    const double passed = std::chrono::duration<double>(now - box.cpu_asked).count();
    if (passed > 0 && cpu_seconds > box.cpu_seconds)
      used_pct = 100 * (cpu_seconds - box.cpu_seconds) / passed;
    box.cpu_seconds = cpu_seconds;
    box.cpu_asked = now;
  }
  const auto wall = std::chrono::system_clock::now();
  OrderedJson json;
  json["timestamp"] = utc_time(wall);
  json["timestampUnix"] =
      std::chrono::duration_cast<std::chrono::seconds>(wall.time_since_epoch()).count();
  json["cpuCount"] = box.limits.cpus;
  json["cpuUsedPct"] = used_pct;
  json["memUsed"] = usage.memory_bytes;
  json["memTotal"] = box.limits.memory_bytes;
  json["memCache"] = 0;
  json["diskUsed"] = usage.file_bytes;
  json["diskTotal"] = box.limits.file_bytes;
  return json;
}

}  // namespace cloche::e2b
