// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/request_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cluster/router.h"
#include "doors/http/message.h"

namespace cloche::serve {
namespace {

constexpr std::size_t path_max_bytes = 300;

std::string_view method_label(std::string_view method) {
  for (const std::string_view known :
       {"GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS", "CONNECT"}) {
    if (known == method) return known;
  }
  return "other";
}

std::string_view without_version(std::string_view path) {
  static constexpr std::string_view prefix = "/v1";
  if (path.starts_with("/v1/")) path.remove_prefix(prefix.size());
  return path;
}

template <std::size_t count>
bool is_one_of(std::string_view word, const std::array<std::string_view, count>& words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_asked_all_the_time(std::string_view path) {
  static constexpr std::array<std::string_view, 4> paths{"/health", "/ready", "/metrics", "/cell"};
  return is_one_of(without_version(path), paths);
}

std::string_view outcome_of(int status) {
  return status < 400 ? "done" : status < 500 ? "refused" : "failed";
}

}  // namespace

std::string route_of(std::string_view path) {
  static constexpr std::array<std::string_view, 8> whole{
      "/sessions", "/sandboxes",      "/rpc",       "/mcp",
      "/run_code", "/run_code/batch", "/templates", "/console"};
  static constexpr std::array<std::string_view, 2> folders{"/sessions/", "/sandboxes/"};
  static constexpr std::array<std::string_view, 12> actions{
      "commands", "code",    "files",     "pause",   "resume", "step",
      "tunnel",   "timeout", "refreshes", "metrics", "logs",   "connect"};
  path = without_version(path);
  if (is_one_of(path, whole)) return std::string(path);
  if (!path.starts_with('/') && path.ends_with(":22")) return "/sessions/{id}";  // of CONNECT
  for (const std::string_view folder : folders) {
    if (!path.starts_with(folder) || path.size() == folder.size()) continue;
    const std::string_view rest = path.substr(folder.size());
    const std::size_t slash = rest.find('/');
    if (slash == rest.npos) return fmt::format("{}{{id}}", folder);
    const std::string_view action = rest.substr(slash + 1);
    if (is_one_of(action, actions)) return fmt::format("{}{{id}}/{}", folder, action);
  }
  return {};
}

RequestRecord::RequestRecord(const http::Request& request, const telemetry::Recorders& to,
                             http::Metrics& metrics, std::string owner)
    : to_(to),
      metrics_(metrics),
      method_(method_label(request.method)),
      path_(request.path.substr(0, path_max_bytes)),
      session_(cluster::session_of_path(without_version(path_))),
      from_(request.peer),
      owner_(std::move(owner)),
      is_quiet_(is_asked_all_the_time(path_)) {
  if (auto sent = parse_traceparent(request.field("traceparent"))) {
    parent_id_ = sent->span_id;
    trace_ = to_.spans ? child_of(*sent) : *std::move(sent);
  } else if (to_.spans && !is_quiet_) {
    trace_ = new_trace();
  }
}

RequestRecord::~RequestRecord() { end(500); }

void RequestRecord::count(int status) {
  metrics_.count("cloche_http_requests_total",
                 fmt::format(R"(method="{}",code="{}")", method_, status));
}

void RequestRecord::end(int status) { end(status, outcome_of(status)); }

void RequestRecord::end(std::optional<int> status, std::string_view outcome) {
  if (ended_.exchange(true)) return;
  if (status) count(*status);
  const TraceScope scope(trace());
  if (to_.audit && !is_quiet_) {
    to_.audit->add({.who = owner_,
                    .from = from_,
                    .what = "request",
                    .target = fmt::format("{} {}", method_, path_),
                    .session = session_,
                    .outcome = outcome,
                    .code = status});
  }
  if (!to_.spans || !trace_) return;
  telemetry::Span span;
  span.context = *trace_;
  span.parent_id = parent_id_;
  const std::string route = route_of(path_);
  span.name = route.empty() ? method_ : fmt::format("{} {}", method_, route);
  span.kind = telemetry::Span::Kind::server;
  span.begin = begin_;
  span.end = std::chrono::system_clock::now();
  span.attributes = {{"http.request.method", method_}, {"url.path", path_}};
  if (!route.empty()) span.attributes.emplace_back("http.route", route);
  if (!session_.empty()) span.attributes.emplace_back("cloche.session.id", session_);
  if (status)
    span.attributes.emplace_back("http.response.status_code", static_cast<std::int64_t>(*status));
  span.failed = status && *status >= 500;
  to_.spans->add(std::move(span));
}

}  // namespace cloche::serve
