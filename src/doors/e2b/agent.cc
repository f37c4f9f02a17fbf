// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/agent.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "base/base64.h"
#include "doors/e2b/file_transfer.h"
#include "doors/e2b/rest_wire.h"

namespace cloche::e2b {
namespace {

constexpr std::string_view process_service = "/process.Process/";
constexpr std::string_view file_service = "/filesystem.Filesystem/";
constexpr std::size_t authorization_max_bytes = 1024;

bool is_stream(const http::Request& request) {
  return request.field("Content-Type").starts_with(stream_type);
}

// A stream has status 200 also for errors.
void refuse(const http::Request& request, http::Exchange& exchange, const CallError& error) {
  if (!is_stream(request)) return exchange.send(error_answer(error));
  exchange.send({200, {{"Content-Type", std::string(stream_type)}}, end_frame(error)});
}

http::Response agent_metrics(Box& box) {
  const OrderedJson figures = metrics_json(box);
  return http::json_response(200, write_json(OrderedJson{{"ts", figures["timestampUnix"]},
                                                         {"cpu_count", figures["cpuCount"]},
                                                         {"cpu_used_pct", figures["cpuUsedPct"]},
                                                         {"mem_total", figures["memTotal"]},
                                                         {"mem_used", figures["memUsed"]},
                                                         {"mem_cache", figures["memCache"]},
                                                         {"disk_used", figures["diskUsed"]},
                                                         {"disk_total", figures["diskTotal"]}}));
}

}  // namespace

CallResult<Actor> actor_named(std::string_view name) {
  if (name.empty() || name == "user") return Actor{Account::user, "user", "/home/user"};
  if (name == "root") return Actor{Account::root, "root", "/root"};
  return CallError{"unauthenticated", fmt::format("there is no user '{}'", name)};
}

CallResult<Actor> actor_of(const http::Request& request, std::string_view otherwise) {
  static constexpr std::string_view scheme = "Basic ";
  std::string_view field = request.field("Authorization");
  if (field.size() < scheme.size() || field.size() > authorization_max_bytes ||
      !http::same_text(field.substr(0, scheme.size()), scheme))
    return actor_named(otherwise);
  const auto text = from_base64(field.substr(scheme.size()));
  if (!text) return CallError{"unauthenticated", "Authorization must be Basic, with base64"};
  return actor_named(std::string_view(*text).substr(0, text->find(':')));
}

CallResult<std::string> path_of(const Actor& actor, std::string_view path) {
  if (path.find('\0') != path.npos)
    return CallError{"invalid_argument", "path must not have a NUL"};
  std::string whole;
  if (path.starts_with('~')) {
    if (path.size() > 1 && path[1] != '/')
      return CallError{"invalid_argument", "the home of another user cannot be said by ~"};
    whole = actor.home + std::string(path.substr(1));
  } else if (path.starts_with('/')) {
    whole = path;
  } else {
    whole = actor.home + "/" + std::string(path);
  }
  whole = std::filesystem::path(whole).lexically_normal().string();
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  while (whole.starts_with("//")) whole.erase(0, 1);
  return whole;
}

void answer_unary(Unary method, const Call& call) {
  const auto answer = [&]() -> CallResult<OrderedJson> {
    CLOCHE_CALL(const Json message, read_message(call.request.body));
    return method(call, message);
  };
  const auto result = answer();
  const auto* error = std::get_if<CallError>(&result);
  call.exchange->send(error ? error_answer(*error) : message_answer(std::get<OrderedJson>(result)));
}

void answer_unary(UnaryText method, const Call& call) {
  const auto answer = [&]() -> CallResult<std::string> {
    CLOCHE_CALL(const Json message, read_message(call.request.body));
    return method(call, message);
  };
  auto result = answer();
  const auto* error = std::get_if<CallError>(&result);
  call.exchange->send(error ? error_answer(*error)
                            : http::json_response(200, std::get<std::string>(std::move(result))));
}

void ask_agent(const BoxPtr& box, session::Session::Use use, http::Request request,
               const std::shared_ptr<http::Exchange>& exchange) {
  const std::string path = request.path;
  const bool is_get = request.method == "GET" || request.method == "HEAD";
  if (path == "/health" && is_get) return exchange->send(no_content());
  if (path == "/metrics" && is_get) return exchange->send(agent_metrics(*box));
  if (path == "/envs" && is_get) {
    return exchange->send(http::json_response(200, write_json(OrderedJson(box->wish.environment))));
  }
  if (path == "/files") {
    if (request.method == "GET" || request.method == "HEAD")
      return exchange->send(download(box, std::move(use), request));
    if (request.method == "POST") return exchange->send(upload(*use, request));
    return exchange->send(not_allowed("GET, HEAD, POST"));
  }
  const bool is_process = path.starts_with(process_service);
  if (!is_process && !path.starts_with(file_service))
    return exchange->send(rest_error(404, "there is nothing at this address"));
  if (request.method != "POST") return exchange->send(not_allowed("POST"));
  auto actor = actor_of(request, box->start.user);
  if (const auto* error = std::get_if<CallError>(&actor)) return refuse(request, *exchange, *error);
  const std::string_view type = request.field("Content-Type");
  if (!is_stream(request) && !type.starts_with("application/json")) {
    return exchange->send(
        rest_error(415, "calls are application/json, streams application/connect+json"));
  }
  Call call{box, std::move(use), std::get<Actor>(std::move(actor)), std::move(request), exchange};
  const std::string method = path.substr(is_process ? process_service.size() : file_service.size());
  if (is_process) return call_process_service(method, std::move(call));
  call_file_service(method, std::move(call));
}

}  // namespace cloche::e2b
