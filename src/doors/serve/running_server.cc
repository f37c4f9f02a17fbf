// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/running_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host_error.h"
#include "doors/serve/gauges.h"
#include "doors/serve/key_requests.h"

namespace cloche::serve {
namespace {

constexpr std::size_t worker_limit = 2048;

// Of a server that ends because its spawner has: a supervisor starts it anew.
constexpr int lost_status = 1;

// Who has a token may call a server that others reach by any name.
std::vector<std::string> mcp_hosts(const Options& options, const http::TokenStore& tokens) {
  const bool by_any_name = !tokens.empty() && !is_loopback(options.http.host);
  return by_any_name ? std::vector<std::string>{"*"} : options.allowed_hosts;
}

}  // namespace

// --- How it begins ---

RunningServer::RunningServer(Options options, cluster::Spawner* spawner, UniqueFd channel)
    : is_worker_(static_cast<bool>(channel)),
      spawner_(spawner),
      channel_(std::move(channel)),
      process_(std::move(options),
               is_worker_ ? ServerProcess::Role::worker : ServerProcess::Role::server),
      is_isolated_by_session_(options_.isolation.by == Isolation::By::session),
      tokens_watch_(options_.tokens_file),
      tls_watches_{FileWatch(options_.http.tls_certificate), FileWatch(options_.http.tls_key),
                   FileWatch(options_.peer_authorities)},
      token_store_(options_.isolation.tokens
                       ? options_.isolation.tokens
                       : std::make_shared<http::TokenStore>(options_.tokens, options_.tokens_file)),
      sessions_(process_.engine, watched_sessions()),
      ssh_({sessions_, log_, metrics_, tokens_,
            [this](const ssh::Login& login) { record_login(login); }},
           {.host_key = options_.ssh_host_key,
            .password = options_.ssh_password,
            .most_connections = std::min<std::size_t>(options_.http.connection_limit, 1024),
            .held_limit_bytes = options_.http.received_limit_bytes}),
      logins_(tokens_),
      guard_(options_.http.host, options_.allowed_hosts, options_.allowed_origins),
      mcp_guard_(options_.http.host, mcp_hosts(options_, tokens_), options_.allowed_origins),
      workers_(worker_limit),
      console_({tokens_, logins_, guard_}) {
  if (options_.takes_keys) sessions_.take_back_keys();
  define_gauges(metrics_, sessions_, workers_, [this] {
    return isolated_ && is_isolated_by_session_ ? isolated_->headroom()
                                                : sessions_.room().headroom();
  });
  if (spawner_) isolated_.emplace(*spawner_, options_, log_, metrics_);
  if (options_.peers) join_cells();
  make_doors();
  make_agents_doors();
  make_server();
}

// Has the sessions tell what is done with them.
const session::ManagerOptions& RunningServer::watched_sessions() {
  session::ManagerOptions& sessions = options_.sessions;
  count_events(sessions, metrics_);
  sessions.audit = [this](session::Event event, const session::Session& session) {
    const bool is_gone = event == session::Event::closed || event == session::Event::expired ||
                         event == session::Event::idled || event == session::Event::ended ||
                         event == session::Event::left;
    if (e2b::Boxes* boxes = known_boxes_; boxes && is_gone) boxes->forget(session.facts().id);
    metrics_.count("cloche_sessions_total", fmt::format(R"(event="{}")", event_label(event)));
    log_.event(http::LogLevel::info, event_name(event),
               {{"session_id", session.facts().id}, {"reason", std::string(event_reason(event))}});
  };
  sessions.came_due = [this](const std::shared_ptr<session::Session>& session) {
    e2b::Boxes* const boxes = known_boxes_;
    return boxes && boxes->came_due(session);
  };
  sessions.stopping = [this](const session::Session& session) {
    if (e2b::Boxes* boxes = known_boxes_) boxes->stopping(session);
    if (ssh::SshDoor* door = known_ssh_) door->drop(session.facts().id);
  };
  sessions.trouble = [this](const std::string& sentence) {
    log_.event(http::LogLevel::error, "state_trouble", {{"message", sentence}});
  };
  if (options_.peers) {
    sessions.count_elsewhere = [this](const std::string& owner, const session::Rank& rank) {
      cluster::Router* const others = known_router_;
      return others ? others->count_of(owner, rank) : session::CountElsewhere{};
    };
  }
  return sessions;
}

void RunningServer::join_cells() {
  peer_wire_.emplace(options_.peer_authorities);
  peers_.emplace(cluster::PeerTable::Options{
      .source = *options_.peers,
      .self = options_.sessions.cell,
      .token = options_.peer_token,
      .wire = *peer_wire_,
      .heard = [this](const auto& report) { sessions_.hear_of_rank(report.rank); }});
  router_.emplace(
      cluster::Router::Parts{*peers_, *peer_wire_, sessions_, metrics_},
      cluster::Router::Options{.token = options_.peer_token, .owner_rule = options_.owner_rule});
  router_is_known_.emplace(known_router_, *router_);
  ssh_elsewhere_.emplace(*router_);
  metrics_.describe("cloche_forwarded_total", "What was passed on to other cells.");
  metrics_.gauge("cloche_forwarding", "Requests that look for another cell, or wait for it.",
                 [this] { return static_cast<double>(router_->waiting()); });
  metrics_.describe("cloche_owners_not_counted_total",
                    "New sessions for which a cell did not say how many their owner has.");
}

cluster::Elsewhere* RunningServer::elsewhere() {
  if (is_isolated_by_session_ && is_worker_) return &asked_by_server_;
  if (is_isolated_by_session_ && isolated_) return &*isolated_;
  return router_ ? &*router_ : nullptr;
}

void RunningServer::make_doors() {
  steps_.emplace(steps::StepDoor::Parts{sessions_, workers_, log_, metrics_},
                 steps::step_timeout_s(std::getenv("SBS_STEP_TIMEOUT_SEC")));
  rest_.emplace(rest::RestDoor::Parts{sessions_, workers_, log_, metrics_, tokens_, ssh_,
                                      [this] { return not_ready(); }, elsewhere()},
                rest::RestDoor::Limits{options_.requests_per_minute,
                                       options_.sessions.sandbox.file_limit_bytes,
                                       options_.sessions.session_limit_per_owner});
  remote_.emplace(
      remote::Parts{process_.engine, sessions_, workers_, [this] { return not_ready(); },
                    [this] {
                      return static_cast<std::uint64_t>(metrics_.sum("cloche_http_requests_total"));
                    }},
      remote::RemoteDoor::Doorkeepers{tokens_, logins_, guard_});
  grading_.emplace(grading::GradingDoor::Parts{process_.engine, workers_, tokens_, metrics_},
                   options_.sessions.sandbox);
}

// Those whose protocols are others'.
void RunningServer::make_agents_doors() {
  mcp_hub_.emplace(
      mcp_options(options_,
                  [this]() -> std::string {
                    if (is_ending_) return ending_sentence();
                    return sessions_.room().is_over_memory()
                               ? "the server has no memory for more: delete something, or try again"
                               : "";
                  }),
      [this]() -> Engine& { return process_.engine; }, workers_);
  mcp_.emplace(mcp::HttpDoor::Parts{*mcp_hub_, tokens_, mcp_guard_});
  boxes_.emplace(process_.engine, sessions_, workers_, e2b_options(options_),
                 options_.sessions.grants, options_.e2b.images);
  boxes_are_known_.emplace(known_boxes_, *boxes_);
  e2b_door_.emplace(e2b::E2bDoor::Parts{*boxes_, workers_, tokens_}, options_.e2b);
}

void RunningServer::make_server() {
  application_.emplace(
      Application::Parts{
          *steps_, *rest_, *mcp_, *remote_, options_.use_console ? &console_ : nullptr, *e2b_door_,
          *grading_, metrics_, log_, guard_, tokens_, router_ ? &*router_ : nullptr,
          [this](const http::Request& request, const std::shared_ptr<http::Exchange>& exchange) {
            answer_peer(request, exchange);
          },
          isolated_ ? &*isolated_ : nullptr, process_.recorders},
      options_.api);
  server_.emplace(options_.http, *application_);
  // Who asks for more is let in, counted and recorded by the server first.
  if (is_worker_) server_->close_after_answers();
  if (options_.e2b.listens_for_debug) debug_.emplace(*boxes_, *e2b_door_);
  if (is_worker_) {
    link_.emplace(std::move(channel_), *server_,
                  [this] { return sessions_.count() == 0 && mcp_hub_->boxes() == 0; });
  }
  if (options_.use_ssh_port)
    ssh_.listen(options_.http.host, options_.ssh_port, ssh_elsewhere_ ? &*ssh_elsewhere_ : nullptr);
}

// --- What it says of itself ---

std::string RunningServer::not_ready() {
  if (is_ending_) return ending_sentence();
  if (process_.audit) {
    if (std::string trouble = process_.audit->trouble(); !trouble.empty()) return trouble;
  }
  if (isolated_) return isolated_->not_ready();
  if (std::string trouble = process_.engine_trouble(); !trouble.empty()) return trouble;
  return sessions_.save_trouble();
}

cluster::CellReport RunningServer::report() {
  sessions_.let_go_of_taken_keys();
  return {.key = options_.sessions.cell,
          .keys = sessions_.keys(),
          .sessions = sessions_.count(),
          .ready = not_ready().empty(),
          .headroom = sessions_.room().headroom(),
          .rank = sessions_.last_rank(),
          .version = CLOCHE_VERSION};
}

void RunningServer::answer_peer(const http::Request& request,
                                const std::shared_ptr<http::Exchange>& exchange) {
  if (is_ssh_path(request.path)) return answer_ssh_request(request, exchange, sessions_, ssh_);
  exchange->send(is_key_path(request.path)                      ? answer_key(request)
                 : cluster::Router::is_count_path(request.path) ? router_->answer_count(request)
                 : request.path == "/cell"
                     ? http::json_response(200, to_json(report()))
                     : http::text_response(404, "cells know no such thing\n"));
}

http::Response RunningServer::answer_key(const http::Request& request) {
  http::Response answer =
      answer_key_request(request, *router_, options_.sessions.cell,
                         options_.takes_keys ? KeyRule::any : KeyRule::only_own);
  log_.event(
      http::LogLevel::info, "key_asked",
      {{"request", fmt::format("{} {}", request.method, request.path)}, {"status", answer.status}});
  return answer;
}

void RunningServer::record_login(const ssh::Login& login) {
  if (!process_.audit) return;
  const telemetry::AuditEntry entry{.who = login.owner,
                                    .from = login.peer,
                                    .what = "ssh.login",
                                    .session = login.session_id,
                                    .outcome = login.is_good ? "done" : "refused"};
  login.is_good ? process_.audit->add(entry) : process_.audit->add_stranger(entry);
}

// --- While it runs ---

int RunningServer::run(const Signals& signals) {
  if (const auto& own = options_.http.own_certificate)
    log_.event(http::LogLevel::info, "certificate_made", {{"sha256", own->fingerprint}});
  // What a worker needs of programs it reads, and where it listens nobody else knows.
  if (!is_worker_) {
    say_listening();
    prepare_programs();
  }
  signals.wait_for_end([this] { read_changed_files(); }, [this] { read_all_files(); });
  end(signals);
  const int status = isolated_ && isolated_->is_lost() ? lost_status : 0;
  // A compilation cannot be stopped, and nobody waits for it any more.
  if (prepared_.valid() && prepared_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    ::_exit(status);
  return status;
}

void RunningServer::say_listening() {
  const bool is_ipv6 = options_.http.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + options_.http.host + "]" : options_.http.host;
  // Before the other line, by which one knows that all is there.
  if (options_.use_ssh_port) {
    log_.event(http::LogLevel::info, "ssh_open",
               {{"url", fmt::format("ssh://{}:{}", host, ssh_.port())}});
  }
  log_.event(http::LogLevel::info, "listening",
             {{"url", fmt::format("{}://{}:{}", options_.http.has_tls() ? "https" : "http", host,
                                  server_->port())},
              {"api", options_.api == Api::steps ? "steps" : "sessions"},
              {"tokens", tokens_.empty() ? "none, so only this machine may connect"
                                         : std::to_string(tokens_.size())}});
}

// All programs are compiled one after another, so that the first steps need not wait for more than
// theirs.
void RunningServer::prepare_programs() {
  try {
    prepared_ = std::async(std::launch::async, [this] {
      try {
        process_.engine.prepare();
      } catch (const std::exception& error) {
        cannot_prepare(error);
      }
    });
  } catch (const std::system_error& error) {
    cannot_prepare(error);  // without a thread for it what is asked for is compiled when it is
  }
}

void RunningServer::cannot_prepare(const std::exception& error) {
  log_.event(http::LogLevel::error, "cannot_prepare", {{"message", error.what()}});
}

void RunningServer::read_changed_files() {
  if (tokens_watch_.has_changed()) read_tokens();
  const auto changed =
      std::ranges::count_if(tls_watches_, [](FileWatch& file) { return file.has_changed(); });
  if (changed > 0) read_certificate();
}

void RunningServer::read_all_files() {
  read_tokens();
  read_certificate();
  const auto problem = process_.audit ? process_.audit->reopen() : std::nullopt;
  if (problem) log_.event(http::LogLevel::error, "audit_not_reopened", {{"message", *problem}});
}

void RunningServer::read_tokens() {
  if (options_.tokens_file.empty()) return;
  try {
    tokens_.reload();
    log_.event(http::LogLevel::info, "tokens_read", {{"tokens", tokens_.size()}});
  } catch (const HostError& error) {
    log_.event(http::LogLevel::error, "tokens_not_read", {{"message", error.what()}});
  }
}

void RunningServer::read_certificate() {
  if (options_.http.tls_certificate.empty()) return;
  try {
    server_->read_certificate();
    if (peer_wire_) peer_wire_->read_authorities();
    log_.event(http::LogLevel::info, "certificate_read", {});
  } catch (const HostError& error) {
    log_.event(http::LogLevel::error, "certificate_not_read", {{"message", error.what()}});
  }
}

// --- How it ends ---

void RunningServer::end(const Signals& signals) {
  is_ending_ = true;
  log_.event(http::LogLevel::info, "ending", {{"sessions", sessions_.count()}});
  // A worker is asked once by its server, once by the spawner, and means the same by both.
  if (!is_worker_) signals.unblock();
  sessions_.stop_creating();
  server_->close_after_answers();
  if (debug_) debug_->close_after_answers();
  std::this_thread::sleep_for(options_.drain_notice);
  // What runs may end, whichever door it came by.
  const auto deadline = std::chrono::steady_clock::now() + options_.drain;
  if (isolated_) isolated_->begin_to_end();
  ssh_.end_idle();
  mcp_->end_listening();
  server_->drain(options_.drain);
  if (debug_) debug_->drain(std::chrono::milliseconds(0));
  mcp_->stop();
  ssh_.wait_until_empty(std::chrono::ceil<std::chrono::milliseconds>(
      std::max(deadline - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0))));
  ssh_.stop();
  remote_->stop();
  grading_->stop();
  sessions_.end();
  boxes_->wait_for_end();
  if (isolated_) isolated_->stop();
  server_->drain(std::chrono::seconds(2));
  if (process_.spans) process_.spans->stop();
  log_.event(http::LogLevel::info, "ended", {});
}

}  // namespace cloche::serve
