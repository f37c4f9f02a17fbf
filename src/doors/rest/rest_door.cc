// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/rest_door.h"

#include <fmt/format.h>

#include "base/json_members.h"
#include "doors/http/answering.h"
#include "doors/http/date.h"
#include "doors/rest/openapi.h"
#include "doors/rest/replies.h"

namespace cloche::rest {
namespace {

constexpr std::chrono::seconds blank_interval{10};

http::Response not_allowed(std::string_view allowed) {
  return http::with_allow(error(405, "INVALID_REQUEST", "this address does not take that method"),
                          allowed);
}

http::Response no_such_address() {
  return error(404, "INVALID_REQUEST",
               "there is nothing at this address: /v1/docs shows what there is");
}

http::Response not_running(const session::Session& session) {
  if (session.status() == session::Status::closed) return no_session();
  if (session.is_leaving()) {
    http::Response response =
        error(503, "CELL_FULL", "the session is going to another server: try again");
    response.fields.emplace_back("Retry-After", "1");
    return response;
  }
  if (const std::string trouble = session.trouble(); !trouble.empty()) {
    return session.status() == session::Status::failed ? error(409, "INVALID_STATE", trouble)
                                                       : error(500, "INTERNAL_ERROR", trouble);
  }
  return error(409, "INVALID_STATE", "the session is paused: resume it first");
}

// The answer to a wish for a sandbox that is not granted.
http::Response wish_error(const Error& why) {
  const std::string sentence = fmt::format("sandbox: {}", why.sentence());
  return why == Errno::acces ? error(403, "FORBIDDEN", sentence)
                             : error(400, "INVALID_PARAMETER", sentence);
}

// The answer, which says once that the session's processes are gone. What has begun as blanks has no
// field any more: then the next answer says it.
http::Response with_restart(const std::shared_ptr<session::Session>& session,
                            http::Response response, std::chrono::steady_clock::time_point asked) {
  const auto restart = session->restart();
  if (!restart) return response;
  response.fields.emplace_back("X-Cloche-Restarted", "true");
  if (!restart->changed_packages.empty())
    response.fields.emplace_back("X-Cloche-Changed-Packages", restart->changed_packages);
  if (std::chrono::steady_clock::now() - asked < blank_interval / 2) session->restart_is_told();
  return response;
}

}  // namespace

// Nobody knows whose session it is that cannot be read: who knows its id is told so.
http::Response RestDoor::none_at(const std::string& id) const {
  if (const auto cell = parts_.sessions.other_cell(id)) return wrong_cell(*cell);
  if (!parts_.sessions.is_unreadable(id)) return no_session();
  return error(500, "INTERNAL_ERROR", "the saved state of this session cannot be read");
}

// Work that takes a while, or asks the sandbox.
void RestDoor::answer(const ExchangePtr& exchange, const std::string& owner,
                      std::function<http::Response()> work) {
  parts_.workers.do_here(
      http::answering(exchange, std::move(work),
                      [](const char* why) { return error(500, "INTERNAL_ERROR", why); }),
      owner);
}

std::optional<http::Response> RestDoor::count(const std::string& owner) {
  const RateLimiter::Verdict verdict = rates_.count(owner, std::chrono::system_clock::now());
  if (verdict.allowed) return std::nullopt;
  return rate_limited(verdict, fmt::format("more than {} requests in a minute", verdict.limit));
}

void RestDoor::handle(http::Request request, ExchangePtr exchange) {
  if (request.path == "/health" || request.path == "/openapi.json") {
    if (request.method != "GET" && request.method != "HEAD")
      return exchange->send(not_allowed("GET, HEAD"));
    return exchange->send(http::json_response(200, request.path == "/health"
                                                       ? R"({"status":"healthy"})"
                                                       : std::string(openapi_document())));
  }
  if (request.path == "/ready") {
    if (request.method != "GET" && request.method != "HEAD")
      return exchange->send(not_allowed("GET, HEAD"));
    const std::string reason = parts_.not_ready();
    return exchange->send(reason.empty() ? http::json_response(200, R"({"status":"ready"})")
                                         : not_ready(reason));
  }
  const std::optional<std::string> owner = owner_of(request);
  if (!owner) return exchange->send(unauthorized());
  const bool is_of_peer = parts_.elsewhere && parts_.elsewhere->is_from_peer(request);
  // A peer that asks for its client's list has counted that.
  const bool is_counted = is_of_peer && request.method == "GET" && request.path == "/sessions";
  if (!is_counted) {
    if (auto refusal = count(*owner)) return exchange->send(*std::move(refusal));
  }
  if (request.method == "CONNECT") return tunnel(*owner, request, exchange);
  if (request.path == "/sessions" || request.path == "/sessions/") {
    if (request.method == "POST") return create(*owner, request, exchange);
    if (request.method == "GET") {
      return answer(exchange, *owner,
                    [this, owner = *owner, request = std::move(request), is_of_peer] {
                      return list(owner, request, is_of_peer);
                    });
    }
    return exchange->send(not_allowed("GET, POST"));
  }
  const std::optional<SessionPath> path = session_path(request.path);
  if (!path) return exchange->send(no_such_address());
  handle_session(*owner, path->id, path->action, std::move(request), exchange);
}

void RestDoor::handle_session(const std::string& owner, const std::string& id,
                              const std::string& action, http::Request request,
                              const ExchangePtr& exchange) {
  if (action.empty() && request.method == "DELETE") {
    return answer(exchange, owner, [this, owner, id] {
      const session::Change closed = parts_.sessions.close(id, owner);
      if (!closed) return none_at(id);
      if (!closed.saved)
        return not_saved(closed.saved.error(), "the session is deleted, but its saved state is not",
                         {});
      return http::json_response(200, R"({"message":"Session deleted successfully"})");
    });
  }
  const SessionPtr session = parts_.sessions.find(id, owner);
  if (!session) return exchange->send(none_at(id));
  session->touch();
  if (action.empty()) {
    if (request.method != "GET") return exchange->send(not_allowed("GET, DELETE"));
    return exchange->send(http::json_response(200, session_json(*session)));
  }
  const bool is_post = request.method == "POST";
  if (action == "files" && (is_post || request.method == "GET")) {
    return answer(exchange, owner, [this, session, is_post, request = std::move(request)] {
      session::Session::Use use = session::Session::use(session);
      if (!use) return not_running(*session);
      const auto asked = std::chrono::steady_clock::now();
      http::Response response =
          is_post ? upload(*session, *use, request) : download(session, use, request);
      // Whatever became of it then, the reason is this.
      if (response.status >= 400 && use && !use.is_current()) return ended_meanwhile(*session);
      if (!is_post) return with_restart(session, std::move(response), asked);
      const Result<void> saved = parts_.sessions.save(session);
      return saved ? with_restart(session, std::move(response), asked)
                   : not_saved(saved.error(), "what was uploaded is not saved", response.body);
    });
  }
  const bool known = action == "commands" || action == "code" || action == "pause" ||
                     action == "resume" || action == "files";
  if (!known) return exchange->send(no_such_address());
  if (!is_post) return exchange->send(not_allowed(action == "files" ? "GET, POST" : "POST"));
  if (action == "commands") return run(Kind::command, session, request, exchange);
  if (action == "code") return run(Kind::code, session, request, exchange);
  answer(exchange, owner, [this, session, pause = action == "pause"] {
    const session::Change change =
        pause ? parts_.sessions.pause(session) : parts_.sessions.resume(session);
    if (!change && !change.saved)
      return error(500, "INTERNAL_ERROR", "the session cannot be paused: it runs on");
    if (change && !change.saved) {
      return not_saved(
          change.saved.error(),
          fmt::format("the session is {}, but that is not saved", pause ? "paused" : "running"),
          {});
    }
    if (session->status() == session::Status::closed) return no_session();
    if (change) return http::json_response(200, session_json(*session));
    if (session->status() == session::Status::failed) return not_running(*session);
    return error(409, "INVALID_STATE",
                 pause ? "the session is paused already" : "the session is running already");
  });
}

http::Response RestDoor::no_new_session(const session::Refusal& refusal) const {
  using Reason = session::RefusalReason;
  if (refusal.reason == Reason::not_saved) {
    return not_saved(refusal.save_error.value_or(Errno::io),
                     "there is no new session: it cannot be saved", {});
  }
  if (refusal.error && refusal.error->kind() == ErrorKind::request)
    return wish_error(*refusal.error);
  if (refusal.reason == Reason::failed) return error(500, "INTERNAL_ERROR", refusal.sentence);
  if (refusal.reason != Reason::owner_limit) return cell_full(refusal.sentence);
  const auto reset = std::chrono::system_clock::now() + std::chrono::seconds(60);
  return rate_limited(
      {.allowed = false,
       .limit = limits_.sessions_per_owner,
       .remaining = 0,
       .reset_s =
           std::chrono::duration_cast<std::chrono::seconds>(reset.time_since_epoch()).count()},
      refusal.sentence);
}

void RestDoor::create(const std::string& owner, const http::Request& request,
                      const ExchangePtr& exchange) {
  auto checked = read_create(request.body);
  if (auto* wrong = std::get_if<http::Response>(&checked)) return exchange->send(std::move(*wrong));
  auto& body = std::get<CreateBody>(checked);
  session::SessionRequest wanted = std::move(body.request);
  wanted.owner = owner;
  if (body.wish) {
    try {
      wanted.sandbox = parts_.sessions.options_for(*body.wish, sandbox::Beyond::refused);
    } catch (const WrongMember& wrong) {
      return exchange->send(
          error(400, "INVALID_PARAMETER", "sandbox: " + std::string(wrong.what())));
    } catch (const Error& beyond) {
      return exchange->send(wish_error(beyond));
    }
  }
  answer(exchange, owner, [this, wanted = std::move(wanted)] {
    const auto made = parts_.sessions.create(wanted);
    if (const auto* refusal = std::get_if<session::Refusal>(&made)) {
      return no_new_session(*refusal);
    }
    return http::json_response(200, session_json(*std::get<SessionPtr>(made)));
  });
}

http::Response RestDoor::list(const std::string& owner, const http::Request& request,
                              bool is_of_peer) {
  auto checked = read_page_query(request.query, is_of_peer ? SIZE_MAX : page_limit_max);
  if (auto* wrong = std::get_if<http::Response>(&checked)) return std::move(*wrong);
  const PageQuery query = std::get<PageQuery>(checked);
  if (query.offset > SIZE_MAX - query.limit)
    return error(400, "INVALID_PARAMETER", "offset is larger than any number of sessions");
  // Of all cells the newest are wanted from each: nobody knows yet where they come in the whole list.
  const bool of_all = parts_.elsewhere && !is_of_peer;
  const auto found = of_all ? parts_.sessions.list(owner, query.offset + query.limit, 0)
                            : parts_.sessions.list(owner, query.limit, query.offset);
  cluster::SessionPage page{.sessions = {}, .total = found.total};
  for (const SessionPtr& session : found.sessions) {
    page.sessions.push_back({http::iso_timestamp(session->facts().created), session->facts().id,
                             session_json(*session)});
  }
  if (of_all)
    return parts_.elsewhere->list(owner, request, std::move(page), query.limit, query.offset);
  return http::json_response(200, cluster::page_json(page, query.limit, query.offset));
}

void RestDoor::run(Kind kind, const SessionPtr& session, const http::Request& request,
                   const ExchangePtr& exchange) {
  auto checked = kind == Kind::command ? read_command(request.body) : read_code(request.body);
  if (auto* wrong = std::get_if<http::Response>(&checked)) return exchange->send(std::move(*wrong));
  if (session->status() != session::Status::running) return exchange->send(not_running(*session));
  exchange->send_blanks_until_answer(blank_interval);
  answer(
      exchange, session->facts().owner,
      [this, kind, session, body = std::get<CommandBody>(std::move(checked)),
       asked = std::chrono::steady_clock::now()] {
        const session::Session::Use use = session::Session::use(session);
        if (!use) return not_running(*session);
        const http::RaisedLevel running(parts_.metrics, "cloche_commands_running");
        parts_.metrics.observe(
            "cloche_command_wait_seconds",
            std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count());
        RunResult result = run_in(*use, body);
        const Result<void> saved = parts_.sessions.save(session);
        parts_.metrics.count("cloche_commands_total");
        parts_.log.event(
            http::LogLevel::info, kind == Kind::command ? "command_finished" : "code_finished",
            {{"session_id", session->facts().id},
             {"exit_code", result.exit_code},
             {"duration_ms", std::chrono::duration<double, std::milli>(result.duration).count()}});
        return saved ? with_restart(session, result_response(std::move(result)), asked)
                     : result_not_saved(saved.error(), std::move(result));
      });
}

RunResult RestDoor::run_in(Sandbox& sandbox, const CommandBody& body) {
  RunOptions options;
  options.environment = body.environment;
  options.cwd = body.folder;
  options.timeout = body.timeout;
  options.output_limit_bytes = 16ULL << 20;
  options.argv = sandbox::code_command(sandbox, body.language, body.source);
  return sandbox.run(options);
}

void RestDoor::tunnel(const std::string& owner, const http::Request& request,
                      const ExchangePtr& exchange) {
  const auto refuse = [&](int status, std::string text) {
    http::Response response = http::text_response(status, std::move(text));
    exchange->send(std::move(response));
  };
  std::string id;
  const std::optional<SessionPath> path = session_path(request.path);
  // As a usual proxy is asked: ID:22.
  if (const std::size_t colon = request.path.rfind(':');
      !request.path.starts_with('/') && colon != request.path.npos) {
    id = request.path.substr(0, colon);
  } else if (path && (path->action.empty() || path->action == "tunnel")) {
    id = path->id;
  } else {
    return refuse(404, "a tunnel goes to /sessions/ID, or to ID:22\n");
  }
  const SessionPtr session = parts_.sessions.find(id, owner);
  if (!session) {
    if (const auto cell = parts_.sessions.other_cell(id)) {
      return exchange->send({421,
                             {{"X-Cloche-Cell", std::to_string(*cell)}},
                             "this session belongs to another cell\n"});
    }
    return parts_.sessions.is_unreadable(id)
               ? refuse(500, "the saved state of this session cannot be read\n")
               : refuse(404, "there is no such session\n");
  }
  if (session->status() == session::Status::failed) return refuse(503, session->trouble() + "\n");
  if (session->status() != session::Status::running)
    return refuse(503, "the session is paused: resume it first\n");
  if (!parts_.ssh.has_room()) return refuse(503, "there are too many SSH connections\n");
  session->touch();
  exchange->open_tunnel({}, [this, session](int fd) {
    parts_.ssh.serve(UniqueFd(fd), session, session->facts().id);
  });
}

}  // namespace cloche::rest
