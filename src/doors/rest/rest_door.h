// SPDX-License-Identifier: Apache-2.0
// RestDoor: sessions by REST, and the tunnel to their SSH .
//
// It translates requests to a SessionManager's sessions and back. Thread-safe.
#pragma once

#include <functional>
#include <string>

#include "cluster/elsewhere.h"
#include "doors/http/log.h"
#include "doors/http/metrics.h"
#include "doors/http/server.h"
#include "doors/http/token_store.h"
#include "doors/rest/bodies.h"
#include "doors/rest/rate_limiter.h"
#include "doors/ssh/ssh_door.h"
#include "session/session_manager.h"
#include "session/worker_pool.h"

namespace cloche::rest {

class RestDoor {
 public:
  // All of them outlive it; it must outlive the work it posts to `workers`.
  struct Parts {
    session::SessionManager& sessions;
    session::WorkerPool& workers;
    http::Log& log;
    http::Metrics& metrics;
    const http::TokenStore& tokens;
    ssh::SshDoor& ssh;
    std::function<std::string()> not_ready;   // why there should be no new sessions here; or empty
    cluster::Elsewhere* elsewhere = nullptr;  // null: all sessions are here
  };
  struct Limits {
    std::uint64_t requests_per_minute = 0;
    std::uint64_t upload_bytes = 256ULL << 20;
    std::size_t sessions_per_owner = 0;  // told to whom it stops
  };
  RestDoor(Parts parts, Limits limits)
      : parts_(std::move(parts)), limits_(limits), rates_(limits.requests_per_minute) {}

  // `path` is the request's without the prefix. A request without a good token is refused here, so
  // that nobody sends a large body for nothing.
  http::Admission admit(const http::Request& head, const std::string& path);
  // `request.path` is without the prefix. Waits for what is asked of a sandbox.
  void handle(http::Request request, std::shared_ptr<http::Exchange> exchange);
  http::Response reject(int status, std::string_view reason) const;
  // Counts a request that is answered elsewhere; the refusal, where it is one too many.
  std::optional<http::Response> count(const std::string& owner);
  http::Response no_new_session(const session::Refusal& refusal) const;
  // Whether the path, without the prefix, tells of no session to whoever reads it.
  static bool is_public(std::string_view path);

 private:
  using ExchangePtr = std::shared_ptr<http::Exchange>;
  using SessionPtr = std::shared_ptr<session::Session>;
  enum class Kind { command, code };

  // "/sessions/ID/ACTION"; nothing for another path.
  struct SessionPath {
    std::string id;
    std::string action;
  };
  static std::optional<SessionPath> session_path(const std::string& path);

  std::optional<std::string> owner_of(const http::Request& request) const;
  http::Response none_at(const std::string& id) const;
  void handle_session(const std::string& owner, const std::string& id, const std::string& action,
                      http::Request request, const ExchangePtr& exchange);
  void create(const std::string& owner, const http::Request& request, const ExchangePtr& exchange);
  http::Response list(const std::string& owner, const http::Request& request, bool is_of_peer);
  void run(Kind kind, const SessionPtr& session, const http::Request& request,
           const ExchangePtr& exchange);
  RunResult run_in(Sandbox& sandbox, const CommandBody& body);
  http::Response upload(const session::Session& session, Sandbox& sandbox,
                        const http::Request& request);
  static http::Response download(const SessionPtr& session, session::Session::Use& sandbox,
                                 const http::Request& request);
  void tunnel(const std::string& owner, const http::Request& request, const ExchangePtr& exchange);
  void answer(const ExchangePtr& exchange, const std::string& owner,
              std::function<http::Response()> work);

  Parts parts_;
  const Limits limits_;
  RateLimiter rates_;
};

}  // namespace cloche::rest
