// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/application.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/hex.h"
#include "base/json_string.h"
#include "base/sha256.h"
#include "doors/http/api_pages.h"
#include "doors/http/assets.h"
#include "doors/serve/request_record.h"
#include "doors/skills/skills.h"

namespace cloche::serve {
namespace {

constexpr std::uint64_t step_body_max_bytes = 8ULL << 20;

// What makes a browser show an answer to the page that asked.
http::Fields page_fields(std::string_view origin) {
  return {{"Access-Control-Allow-Origin", std::string(origin)},
          {"Access-Control-Expose-Headers",
           "Content-Disposition, Mcp-Session-Id, X-RateLimit-Limit, X-RateLimit-Remaining, "
           "X-RateLimit-Reset"},
          {"Vary", "Origin"}};
}

// The answer to a browser that asks whether a page may send what no form could.
http::Response preflight_answer(const http::Request& head) {
  http::Response answer{204,
                        {{"Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE"},
                         {"Access-Control-Allow-Headers",
                          "Authorization, Content-Type, Idempotency-Key, MCP-Protocol-Version, "
                          "Mcp-Method, Mcp-Name, Mcp-Session-Id"},
                         {"Access-Control-Max-Age", "600"}},
                        {}};
  if (http::same_text(head.field("Access-Control-Request-Private-Network"), "true"))
    answer.fields.emplace_back("Access-Control-Allow-Private-Network", "true");
  return answer;
}

struct Page {
  std::string_view type;
  std::string_view content;
};

// From which an agent learns to use the server: /llms.txt, /skill.md, /skills/NAME.md.
std::optional<Page> find_skill_page(std::string_view path) {
  static const std::string index = skills::index();
  static constexpr std::string_view folder = "/skills/";
  static constexpr std::string_view ending = ".md";
  if (path == "/llms.txt") return Page{"text/plain; charset=utf-8", index};
  std::string_view name = path == "/skill.md" ? "serve" : "";
  if (path.starts_with(folder) && path.ends_with(ending) &&
      path.size() > folder.size() + ending.size()) {
    name = path.substr(folder.size());
    name.remove_suffix(ending.size());
  }
  const skills::Skill* skill = skills::find(name);
  if (skill == nullptr) return std::nullopt;
  return Page{"text/markdown; charset=utf-8", skill->page};
}

// What shows the REST API to a person; it needs no token, as it tells of no session.
std::optional<Page> find_api_page(const http::Request& request, Api api) {
  static const std::string docs = http::swagger_page("Cloche sessions", "/v1/openapi.json");
  static const std::string redoc = http::redoc_page("Cloche sessions", "/v1/openapi.json");
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  const bool at_root = api == Api::sessions;
  static constexpr std::string_view html = "text/html; charset=utf-8";
  if (request.path == "/v1/docs" || (at_root && request.path == "/docs")) return Page{html, docs};
  if (request.path == "/v1/redoc" || (at_root && request.path == "/redoc"))
    return Page{html, redoc};
  if (at_root) {
    if (const auto skill = find_skill_page(request.path)) return skill;
  }
  if (const http::Asset* asset = http::find_asset(request.path))
    return Page{asset->type, asset->content};
  return std::nullopt;
}

}  // namespace

bool Application::is_rest(const std::string& path, std::string& rest_path) const {
  static constexpr std::string_view prefix = "/v1";
  if (path == prefix || path.starts_with("/v1/")) {
    rest_path = path.substr(prefix.size());
    return true;
  }
  if (api_ != Api::sessions) return false;
  rest_path = path;
  return true;
}

http::Admission Application::admit(const http::Request& head) {
  http::Admission admission = admit_page(head);
  const int status = admission.refusal ? admission.refusal->status : 200;
  if (parts_.recorders.audit && (status == 401 || status == 403)) {
    parts_.recorders.audit->add_stranger(
        {.who = admission.owner,
         .from = head.peer,
         .what = "request",
         .target = fmt::format("{} {}", head.method, head.path),
         .session = std::string(cluster::session_of_path(head.path)),
         .outcome = "refused",
         .code = status});
  }
  return admission;
}

http::Admission Application::admit_page(const http::Request& head) {
  const std::string_view origin = parts_.guard.allowed_origin(head);
  if (origin.empty()) return admit_known(head);
  if (head.method == "OPTIONS" && !head.field("Access-Control-Request-Method").empty())
    return {0, preflight_answer(head), page_fields(origin)};
  http::Admission admission = admit_known(head);
  admission.fields = page_fields(origin);
  return admission;
}

http::Admission Application::admit_remote(const http::Request& head) {
  if (parts_.tokens.empty()) {
    if (const auto fault = parts_.guard.fault(head, http::OriginGuard::Body::json))
      return {0, refuse(true, fault->status, fault->sentence)};
  }
  auto verdict = parts_.remote.judge(head);
  if (verdict.status == 101) return {.body_limit_bytes = 0, .owner = std::move(verdict.owner)};
  http::Response refusal = refuse(true, verdict.status, verdict.sentence);
  refusal.status = verdict.status;
  if (verdict.status == 426) {
    refusal.fields.emplace_back("Upgrade", "websocket");
    refusal.fields.emplace_back("Sec-WebSocket-Version", "13");
  }
  return {0, std::move(refusal)};
}

http::Admission Application::admit_e2b(const http::Request& head) {
  if (parts_.workers) {
    return {
        0, e2b::E2bDoor::reject(501, "a server with --isolate does not speak to programs for E2B")};
  }
  // Who says the id of a sandbox could not have guessed it.
  if (!e2b::E2bDoor::is_of_sandbox(head) && parts_.tokens.empty()) {
    const auto body = e2b::E2bDoor::is_upload(head) ? http::OriginGuard::Body::bytes
                                                    : http::OriginGuard::Body::json;
    if (const auto fault = parts_.guard.fault(head, body))
      return {0, e2b::E2bDoor::reject(fault->status, fault->sentence)};
  }
  return parts_.e2b.admit(head);
}

bool Application::is_public(const http::Request& head) const {
  std::string path;
  return (head.method == "GET" || head.method == "HEAD") &&
         (is_rest(head.path, path) ? rest::RestDoor::is_public(path)
                                   : steps::StepDoor::is_page(head.path));
}

http::Admission Application::admit_known(const http::Request& head) {
  // A server inside a sandbox has paths of its own.
  if (e2b::E2bDoor::is_of_sandbox(head)) return admit_e2b(head);
  if (mcp::HttpDoor::is_mine(head)) return parts_.mcp.admit(head);
  if (is_remote(head.path)) return admit_remote(head);
  if (is_console(head.path)) return parts_.console->admit(head);
  if (e2b::E2bDoor::is_mine(head)) return admit_e2b(head);
  if (is_grading(head.path)) {
    if (parts_.tokens.empty()) {
      if (const auto fault = parts_.guard.fault(head, http::OriginGuard::Body::json))
        return {0, refuse(true, fault->status, fault->sentence)};
    }
    return parts_.grading.admit(head);
  }
  const bool only_reads = head.method == "GET" || head.method == "HEAD";
  if (only_reads && find_api_page(head, api_)) return {1024};
  std::string path;
  const bool to_rest = is_rest(head.path, path);
  // The steps' API knows no tokens.
  if (!is_public(head) && (!to_rest || parts_.tokens.empty())) {
    const auto body = to_rest && path.ends_with("/files") ? http::OriginGuard::Body::bytes
                                                          : http::OriginGuard::Body::json;
    if (const auto fault = parts_.guard.fault(head, body))
      return {0, refuse(to_rest, fault->status, fault->sentence)};
  }
  if (is_of_peer(head)) return {1024};
  if (to_rest) return parts_.rest.admit(head, path);
  return {step_body_max_bytes};
}

void Application::handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  const auto record = std::make_shared<RequestRecord>(
      request, parts_.recorders, parts_.metrics,
      parts_.recorders.audit ? admit_known(request).owner : std::string());
  auto counted = std::make_shared<Recorded>(std::move(exchange), record);
  const TraceScope traced(record->trace());
  if (parts_.workers && is_for_worker(request)) return to_worker(std::move(request), counted);
  if (e2b::E2bDoor::is_of_sandbox(request))
    return parts_.e2b.handle(std::move(request), std::move(counted));
  if (mcp::HttpDoor::is_mine(request)) return parts_.mcp.handle(std::move(request), counted);
  if (e2b::E2bDoor::is_mine(request))
    return parts_.e2b.handle(std::move(request), std::move(counted));
  if (request.path == "/metrics" && request.method == "GET") {
    return counted->send({200,
                          {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                          parts_.workers ? parts_.workers->metrics_page(parts_.metrics.page())
                                         : parts_.metrics.page()});
  }
  if (is_of_peer(request)) return parts_.to_peer(request, counted);
  if (const std::optional<Page> page = find_api_page(request, api_)) {
    return counted->send(
        {200,
         {{"Content-Type", std::string(page->type)}, {"Cache-Control", "max-age=300"}},
         std::string(page->content)});
  }
  if (is_console(request.path)) return counted->send(parts_.console->answer(request));
  if (is_remote(request.path)) return parts_.remote.open(std::move(request), counted);
  if (is_grading(request.path)) return parts_.grading.handle(request, counted);
  std::string path;
  const bool to_rest = is_rest(request.path, path);
  const std::string& place = to_rest ? path : request.path;
  // Asked again, another cell might be chosen for a new session: so the one that was asked remembers
  // what another one has made.
  const bool creates = request.method == "POST" && (place == "/sessions" || place == "/sessions/");
  cluster::Router::Hold hold;  // until the session is in use, or has answered
  if (parts_.router && !creates && pass_on(request, place, to_rest, counted, hold)) return;
  // Whoever sent this was let in: its token tells one from another.
  std::shared_ptr<http::Exchange> answered = std::move(counted);
  if (request.method == "POST") {
    answered = remembered(request, to_rest, std::move(answered));
    if (!answered) return;
  }
  if (parts_.router && creates && pass_on(request, place, to_rest, answered, hold)) return;
  if (to_rest) {
    request.path = std::move(path);
    return parts_.rest.handle(std::move(request), std::move(answered));
  }
  parts_.steps.handle(std::move(request), std::move(answered));
}

std::shared_ptr<http::Exchange> Application::remembered(const http::Request& request, bool is_rest,
                                                        std::shared_ptr<http::Exchange> exchange) {
  const std::string_view said = request.field("Authorization");
  const std::string owner = parts_.tokens.owner_of_header(said).value_or("");
  const std::string scope = fmt::format("{}\n{}", to_hex(sha256(said)), request.path);
  return answers_.admit(request, owner, scope, std::move(exchange),
                        [this, is_rest](int status, std::string_view reason) {
                          return refuse(is_rest, status, reason);
                        });
}

bool Application::is_of_peer(const http::Request& request) const {
  return (request.path == "/cell" || request.path.starts_with("/cell/")) && parts_.router &&
         parts_.router->is_from_peer(request);
}

bool Application::is_for_worker(const http::Request& request) const {
  const bool is_metrics = request.path == "/metrics" && request.method == "GET";
  return !is_metrics && !is_public(request) && !find_api_page(request, api_) &&
         !is_console(request.path);
}

bool Application::pass_on(const http::Request& request, const std::string& path, bool to_rest,
                          const std::shared_ptr<http::Exchange>& exchange,
                          cluster::Router::Hold& hold) {
  const cluster::Router::Away away = [this, to_rest](session::CellKey cell) {
    http::Response response =
        refuse(to_rest, 503,
               fmt::format("cell {}, which has this session, does not answer: try again", cell));
    response.fields.emplace_back("Retry-After", "2");
    response.fields.emplace_back("X-Cloche-Cell", std::to_string(cell));
    return response;
  };
  return parts_.router->pass_on(request, path, exchange, away, hold);
}

bool Application::offers_http2(std::string_view server_name) const {
  return !e2b::E2bDoor::is_server_inside(server_name);
}

http::Response Application::reject(int status, std::string_view reason) {
  return refuse(api_ == Api::sessions, status, reason);
}

http::Response Application::refuse(bool is_rest, int status, std::string_view reason) {
  parts_.metrics.count("cloche_http_rejected_total", fmt::format(R"(code="{}")", status));
  if (is_rest) return parts_.rest.reject(status, reason);
  return http::json_response(status, fmt::format(R"({{"detail":{}}})", json_string(reason)));
}

}  // namespace cloche::serve
