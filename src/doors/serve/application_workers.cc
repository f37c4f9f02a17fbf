// SPDX-License-Identifier: Apache-2.0
// What of a server's requests is its workers', and which one's.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "doors/serve/application.h"

namespace cloche::serve {
namespace {

bool is_list(std::string_view path) { return path == "/sessions" || path == "/sessions/"; }

// `GET /rpc?session=ID`: a WebSocket to a session that is there.
std::string session_of_query(const http::Request& request) {
  for (auto& [name, value] : http::query_pairs(request.query)) {
    if (name == "session") return value;
  }
  return {};
}

}  // namespace

http::Response Application::no_worker(bool is_rest, const cluster::NoWorker& why) {
  using Why = cluster::NoWorker::Why;
  if (is_rest && why.why == Why::owner_limit && parts_.workers->are_of_sessions())
    return parts_.rest.no_new_session({session::RefusalReason::owner_limit, why.sentence});
  if (is_rest && why.why == Why::full && parts_.workers->are_of_sessions())
    return parts_.rest.no_new_session({session::RefusalReason::session_limit, why.sentence});
  const bool is_gone = why.why == Why::gone;
  http::Response refusal = refuse(is_rest, is_gone ? 404 : 503, why.sentence);
  if (!is_gone) refusal.fields.emplace_back("Retry-After", "2");
  return refusal;
}

// Whose it is was said when its head came; a token may have gone since then.
void Application::to_worker(http::Request request,
                            const std::shared_ptr<http::Exchange>& exchange) {
  http::Admission admission = admit_known(request);
  if (admission.refusal) return exchange->send(*std::move(admission.refusal));
  std::string path;
  const bool is_mcp = mcp::HttpDoor::is_mine(request);
  const bool is_step = !is_mcp && !is_rest(request.path, path);
  const Workers::Refuse refuse_it = [this, is_step](const cluster::NoWorker& why) {
    return no_worker(!is_step, why);
  };
  if (parts_.workers->are_of_sessions() && !is_mcp && !is_grading(request.path)) {
    return to_worker_of_session({std::move(request), is_step ? std::string() : std::move(path),
                                 std::move(admission.owner), is_step},
                                exchange, refuse_it);
  }
  if (!is_mcp && !is_step && parts_.workers->is_of_another(path, admission.owner)) {
    request.path = std::move(path);
    return parts_.rest.handle(std::move(request), exchange);  // there is none here either
  }
  // Who knows a session's id may use it by steps, whoever has it.
  const std::string owner =
      is_step ? parts_.workers->owner_of_path(request.path) : std::move(admission.owner);
  parts_.workers->pass_on(request, owner, exchange, refuse_it);
}

void Application::to_worker_of_session(Asked asked, const std::shared_ptr<http::Exchange>& exchange,
                                       const Workers::Refuse& refuse_it) {
  http::Request& request = asked.request;
  const std::string* owner = asked.is_step ? nullptr : &asked.owner;
  if (is_remote(request.path)) {
    const std::string id = session_of_query(request);
    if (id.empty())
      return parts_.workers->pass_on_to_new(request, asked.owner, exchange, refuse_it);
    const auto key = parts_.workers->key_of(id, owner);
    if (!key) return exchange->send(refuse(true, 404, "there is no such session"));
    return parts_.workers->pass_on_to(*key, request, exchange, refuse_it);
  }
  const std::string_view path = asked.is_step ? request.path : asked.rest_path;
  const auto key = parts_.workers->key_of(cluster::session_of_path(path), owner);
  const bool creates = request.method == "POST" && is_list(path);
  if (!key && !creates) return handle_here(std::move(asked), exchange);
  if (!asked.is_step) {
    if (auto refusal = parts_.rest.count(asked.owner)) return exchange->send(*std::move(refusal));
  }
  if (key) return parts_.workers->pass_on_to(*key, request, exchange, refuse_it);
  // Asked again, it is not made again: so this is remembered here, and not by the new worker.
  const std::shared_ptr<http::Exchange> answered = remembered(request, !asked.is_step, exchange);
  if (!answered) return;
  auto made = parts_.workers->create(request, asked.owner);
  if (const auto* none = std::get_if<cluster::NoWorker>(&made))
    return answered->send(refuse_it(*none));
  answered->send(std::get<http::Response>(std::move(made)));
}

// What no worker has: lists, which are of all of them, and that there is no such thing.
void Application::handle_here(Asked asked, const std::shared_ptr<http::Exchange>& exchange) {
  if (asked.is_step) return parts_.steps.handle(std::move(asked.request), exchange);
  asked.request.path = std::move(asked.rest_path);
  parts_.rest.handle(std::move(asked.request), exchange);
}

}  // namespace cloche::serve
