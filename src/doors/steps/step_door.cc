// SPDX-License-Identifier: Apache-2.0
#include "doors/steps/step_door.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/json_string.h"
#include "doors/http/answering.h"
#include "doors/http/body_source.h"
#include "doors/steps/pages.h"
#include "doors/steps/step_request.h"

namespace cloche::steps {
namespace {

constexpr double timeout_default_s = 30;
constexpr double timeout_max_s = 1e6;
constexpr int code_timed_out = 124;
constexpr int code_killed = -9;
constexpr std::uint64_t output_limit_bytes = 16ULL << 20;

http::Response detail(int status, std::string_view text) {
  return http::json_response(status, fmt::format(R"({{"detail":{}}})", json_string(text)));
}

int save_status(Errno why) { return door_codes(ErrorKind::host, why).http; }

http::Response not_saved(Errno why, std::string_view what) {
  return detail(save_status(why), fmt::format("{}: {}", what, errno_info(why).message));
}

// FastAPI's way with a slash too many.
http::Response redirect(const http::Request& request, std::string path) {
  if (const std::string_view host = request.field("Host"); !host.empty())
    path = fmt::format("{}://{}{}", request.secure ? "https" : "http", host, path);
  if (!request.query.empty()) path += "?" + request.query;
  return {307, {{"Location", std::move(path)}}, {}};
}

http::Response not_allowed(std::string_view allowed) {
  return http::with_allow(detail(405, "Method Not Allowed"), allowed);
}

// As Python prints a float: 2.0, 0.5, 1e+16.
std::string seconds_text(double seconds) {
  std::string text = fmt::format("{}", seconds);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

// 128 + N by a shell's count; the negative number by subprocess's.
int exit_code_of(const RunResult& result) {
  switch (result.status) {
    case RunStatus::signaled: return -result.signal;
    case RunStatus::killed: return code_killed;
    case RunStatus::timed_out: return code_timed_out;
    default: return result.exit_code;
  }
}

}  // namespace

double step_timeout_s(const char* text) {
  if (!text || !*text) return timeout_default_s;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  while (*end == ' ') ++end;
  if (*end != '\0' || std::isnan(seconds)) return timeout_default_s;
  return std::min(std::max(seconds, 1.0), timeout_max_s);
}

struct StepDoor::StepRun {
  std::string id;
  StepRequest request;
  std::shared_ptr<session::Session> session;
  session::Session::Use sandbox;
};

void StepDoor::handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  const std::string path = http::percent_decode(request.path);
  if (path == "/sessions") {
    if (request.method != "POST") return exchange->send(not_allowed("POST"));
    return create(exchange);
  }
  if (std::optional<Page> page = find_page(path)) {
    if (request.method != "GET" && request.method != "HEAD")
      return exchange->send(not_allowed("GET, HEAD"));
    return exchange->send(
        {200,
         {{"Content-Type", std::string(page->type)}, {"Cache-Control", "max-age=300"}},
         std::string(page->content)});
  }
  static constexpr std::string_view folder = "/sessions/";
  if (path.starts_with(folder)) {
    std::string_view rest = std::string_view(path).substr(folder.size());
    if (rest.ends_with('/') && rest.size() > 1 && rest[rest.size() - 2] != '/') {
      return exchange->send(redirect(request, request.path.substr(0, request.path.size() - 1)));
    }
    const std::size_t slash = rest.find('/');
    const std::string id(rest.substr(0, slash));
    if (slash == std::string_view::npos && !id.empty()) {
      if (request.method != "DELETE") return exchange->send(not_allowed("DELETE"));
      return remove(id, exchange);
    }
    if (!id.empty() && rest.substr(slash) == "/step") {
      if (request.method != "POST") return exchange->send(not_allowed("POST"));
      return step(id, request, exchange);
    }
    if (rest.empty()) return exchange->send(redirect(request, "/sessions"));
  }
  exchange->send(detail(404, "Not Found"));
}

bool StepDoor::is_page(std::string_view path) { return find_page(path).has_value(); }

void StepDoor::create(const std::shared_ptr<http::Exchange>& exchange) {
  const auto made = parts_.sessions.create({});
  if (const auto* refusal = std::get_if<session::Refusal>(&made)) {
    if (refusal->save_error)
      return exchange->send(detail(save_status(*refusal->save_error), refusal->sentence));
    http::Response response = detail(503, refusal->sentence);
    response.fields.emplace_back("Retry-After", "2");
    return exchange->send(std::move(response));
  }
  const auto& session = std::get<std::shared_ptr<session::Session>>(made);
  exchange->send(
      http::json_response(200, fmt::format(R"({{"session_id":"{}"}})", session->facts().id)));
}

http::Response StepDoor::none_at(const std::string& id) const {
  if (const auto cell = parts_.sessions.other_cell(id)) {
    http::Response response = detail(421, fmt::format("this session belongs to cell {}", *cell));
    response.fields.emplace_back("X-Cloche-Cell", std::to_string(*cell));
    return response;
  }
  return parts_.sessions.is_unreadable(id)
             ? detail(500, "the saved state of this session cannot be read")
             : detail(404, "session not found");
}

void StepDoor::remove(const std::string& id, const std::shared_ptr<http::Exchange>& exchange) {
  const session::Change closed = parts_.sessions.close(id, {});
  if (!closed) return exchange->send(none_at(id));
  if (!closed.saved)
    return exchange->send(not_saved(closed.saved.error(), "the saved state is not deleted"));
  exchange->send({204, {{"Content-Type", "application/json"}}, {}});
}

void StepDoor::step(const std::string& id, const http::Request& request,
                    const std::shared_ptr<http::Exchange>& exchange) {
  auto parsed = parse_step(request.field("Content-Type"), request.body);
  if (auto* refusal = std::get_if<http::Response>(&parsed))
    return exchange->send(std::move(*refusal));
  auto run = std::make_shared<StepRun>();
  run->request = std::get<StepRequest>(std::move(parsed));
  const std::shared_ptr<session::Session> session = parts_.sessions.find(id, {});
  if (session) run->sandbox = session::Session::use(session);
  if (session && !session->trouble().empty())
    return exchange->send(detail(500, session->trouble()));
  if (!run->sandbox) return exchange->send(none_at(id));
  if (run->request.sandbox_id != id)
    return exchange->send(detail(422, "sandbox_id must match session_id"));
  run->id = id;
  run->session = session;
  parts_.log.event(
      http::LogLevel::info, "step_received",
      {{"session_id", id}, {"type", std::string(language_name(run->request.language))}});
  // After a DELETE the sandbox is gone before its last step answers.
  parts_.workers.do_here(http::answering(
      exchange, [this, run = std::move(run)] { return this->run(*run); },
      [](const char* why) { return detail(500, why); }));
}

http::Response StepDoor::run(const StepRun& step) {
  const std::string language(language_name(step.request.language));
  parts_.log.event(http::LogLevel::info, "step_started",
                   {{"session_id", step.id}, {"type", language}});
  RunOptions options;
  options.argv = code_command(*step.sandbox, step.request.language, step.request.source);
  options.timeout = std::chrono::milliseconds(std::llround(timeout_s_ * 1000));
  options.output_limit_bytes = output_limit_bytes;
  const http::RaisedLevel running(parts_.metrics, "cloche_commands_running");
  RunResult result = step.sandbox->run(options);
  const Result<void> saved = parts_.sessions.save(step.session);

  const int code = exit_code_of(result);
  std::string error = std::move(result.stderr_data);
  bool is_error_cut = result.stderr_truncated;
  if (result.status == RunStatus::timed_out) {
    is_error_cut = false;
    error = "execution timed out after " + seconds_text(timeout_s_) + " seconds";
  }
  if (result.status == RunStatus::not_started) error += result.reason + "\n";
  // Of a step that did not come to its end by itself or by its session's.
  const bool failed =
      result.status == RunStatus::not_started || result.status == RunStatus::timed_out;
  const double duration_s = std::chrono::duration<double>(result.duration).count();
  parts_.log.event(failed ? http::LogLevel::error : http::LogLevel::info,
                   failed ? "execution_failed" : "step_finished",
                   {{"session_id", step.id},
                    {"type", language},
                    {"exit_code", code},
                    {"duration_ms", duration_s * 1000}});
  const std::string label = fmt::format(R"(type="{}")", language);
  parts_.metrics.count("cloche_steps_total", label);
  parts_.metrics.count("cloche_step_seconds_total", label, duration_s);
  if (!saved) return not_saved(saved.error(), "the step has run, but what it did is not saved");
  http::Response response = http::output_response(
      200, R"({"output":)", std::move(result.stdout_data), R"(,"error":)", std::move(error),
      fmt::format(R"(,"exit_code":{}{}{}{}}})", code, http::figures_json(result.figures),
                  result.stdout_truncated ? R"(,"output_truncated":true)" : "",
                  is_error_cut ? R"(,"error_truncated":true)" : ""));
  if (step.session->restart()) {
    response.fields.emplace_back("X-Cloche-Restarted", "true");
    step.session->restart_is_told();
  }
  return response;
}

}  // namespace cloche::steps
