// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/serve.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/file_watch.h"
#include "base/host_error.h"
#include "base/host_files.h"
#include "base/process_jail.h"
#include "base/random.h"
#include "cloche/engine.h"
#include "doors/e2b/debug_listeners.h"
#include "doors/http/token_store.h"
#include "doors/mcp/http_door.h"
#include "doors/serve/application.h"
#include "doors/serve/gauges.h"
#include "doors/serve/isolation.h"
#include "doors/serve/jail.h"
#include "doors/serve/key_requests.h"
#include "doors/serve/ssh_requests.h"
#include "doors/ssh/ssh_door.h"
#include "doors/steps/pages.h"

namespace cloche::serve {
namespace {

constexpr std::size_t worker_limit = 2048;
constexpr std::chrono::seconds ending_grace{10};  // of workers, after the time of what runs

// SIGTERM and SIGINT, and SIGHUP where it means to read or to open files again, are waited for, not caught.
// Blocked before the first thread starts.
class Signals {
 public:
  explicit Signals(bool with_reload) {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before_);
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    if (with_reload) sigaddset(&set_, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // Until it is asked to end; calls `look` each second, and `read_all` for each SIGHUP.
  void wait_for_end(const std::function<void()>& look,
                    const std::function<void()>& read_all) const {
    static constexpr timespec second{.tv_sec = 1, .tv_nsec = 0};
    for (int number = 0; number != SIGTERM && number != SIGINT;) {
      number = ::sigtimedwait(&set_, nullptr, &second);
      number == SIGHUP ? read_all() : look();
    }
  }
  // As it was before.
  const sigset_t& mask_before() const { return before_; }
  // From here on a second signal ends the program at once.
  void unblock() const { ::pthread_sigmask(SIG_UNBLOCK, &set_, nullptr); }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

// Of a server that ends because its spawner has: a supervisor starts it anew.
constexpr int lost_status = 1;

// Throws HostError where the host lets the process have too few to work with.
void check_descriptors() {
  constexpr rlim_t fewest = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < fewest) {
    throw HostError(
        fmt::format("a server needs {} descriptors, and this process may have {}: raise "
                    "the limit (ulimit -n, LimitNOFILE of systemd)",
                    fewest, limit.rlim_cur),
        Errno::mfile);
  }
}

// How sandboxes by the Model Context Protocol are made.
mcp::HubOptions mcp_options(const Options& options, std::function<std::string()> refusal) {
  mcp::HubOptions hub;
  hub.sandbox = options.sessions.sandbox;
  hub.sandbox.packages.insert(hub.sandbox.packages.end(), options.mcp_packages.begin(),
                              options.mcp_packages.end());
  hub.sandbox.network.allow.insert(hub.sandbox.network.allow.end(), options.mcp_network.begin(),
                                   options.mcp_network.end());
  hub.allow = options.mcp_allow;
  hub.tools = options.mcp_tools;
  hub.sandbox_limit = options.sessions.session_limit;
  hub.idle_timeout = options.sessions.idle_timeout;
  hub.refusal = std::move(refusal);
  return hub;
}

// A server whose sandboxes cannot be made, or can run nothing: the operator must hear of it now.
void try_sandbox(Engine& engine, const SandboxOptions& options, std::string_view what) {
  constexpr std::uint64_t ample_bytes = std::uint64_t{32} << 20;  // a shell has enough of them
  std::string problem;
  try {
    const auto sandbox = engine.create(options);
    if (options.memory_limit_bytes >= ample_bytes) return;
    RunOptions nothing;
    nothing.script = ":";
    const RunResult result = sandbox->run(nothing);
    if (result.exit_code == 0) return;
    problem = fmt::format("no command can be run in a {} with {} bytes of memory: {}", what,
                          options.memory_limit_bytes,
                          result.reason.empty() ? result.stderr_data : result.reason);
  } catch (const Error& error) {
    throw request_error(fmt::format("no {} can be made so: {}", what, error.sentence()),
                        error.code());
  }
  throw request_error(problem);
}

// What its clients expect to find: the usual packages, where the operator names none.
SandboxOptions e2b_options(SandboxOptions sandbox, const e2b::DoorOptions& door) {
  sandbox.network.allow.insert(sandbox.network.allow.end(), door.network.begin(),
                               door.network.end());
  if (sandbox.packages.empty() && sandbox.image.empty())
    sandbox.packages.assign(mcp::usual_packages.begin(), mcp::usual_packages.end());
  sandbox.isolation = door.isolation;
  return sandbox;
}

// By which traces tell it from other servers.
std::string instance_name(const Options& options) {
  const session::CellKey cell = options.sessions.cell;
  return cell == 0 ? random_hex(8) : fmt::format("cell-{}", cell);
}

void record_login(const ssh::Login& login, telemetry::AuditLog& audit) {
  const telemetry::AuditEntry entry{.who = login.owner,
                                    .from = login.peer,
                                    .what = "ssh.login",
                                    .session = login.session_id,
                                    .outcome = login.is_good ? "done" : "refused"};
  login.is_good ? audit.add(entry) : audit.add_stranger(entry);
}

// `spawner`: of a server whose sandboxes are in workers, otherwise null. `channel`: of a worker.
int serve_here(Options options, const Signals& signals, cluster::Spawner* spawner,
               UniqueFd channel) {
  const bool is_worker = static_cast<bool>(channel);
  check_descriptors();
  if (options.makes_certificate) options.http.own_certificate = http::make_own_certificate();
  http::Log log(options.log_format);
  http::Metrics metrics;
  EngineOptions engine_options;
  engine_options.progress = [&log](std::string_view line) {
    log.event(http::LogLevel::info, "compiling", {{"message", std::string(line)}});
  };
  for (const std::string& sentence : enter_jail(options, engine_options))
    log.event(http::LogLevel::warning, "jail_incomplete", {{"message", sentence}});
  std::optional<telemetry::AuditLog> audit;
  if (options.audit_log) audit.emplace(*options.audit_log, host_files(), metrics);
  std::optional<telemetry::SpanExporter> spans;
  if (options.collector) {
    spans.emplace(
        telemetry::SpanExporter::Options{.collector = *options.collector,
                                         .resource = {CLOCHE_VERSION, instance_name(options)}},
        metrics);
  }
  const telemetry::Recorders recorders{spans ? &*spans : nullptr, audit ? &*audit : nullptr};
  options.sessions.witness = [&, recorders](const session::LoggedEvent& event) {
    telemetry::record_event(event, recorders);
    if (event.kind != "network.left_out") return;
    metrics.count("cloche_network_events_left_out_total", {}, static_cast<double>(event.count));
    log.event(http::LogLevel::warning, "network_events_left_out",
              {{"session_id", event.session_id}, {"count", std::to_string(event.count)}});
  };
  Engine engine(engine_options);
  hide_memory();
  // An image file that is not for this program, an unknown package, a folder that is not there: the
  // operator must hear of it now.
  if (options.has_session_options && !is_worker)
    try_sandbox(engine, options.sessions.sandbox, "session");
  if (options.has_mcp_options && !is_worker)
    try_sandbox(engine, mcp_options(options, {}).sandbox, "sandbox of /mcp");
  if (!is_worker)
    e2b::try_images(engine, e2b_options(options.sessions.sandbox, options.e2b), options.e2b.images);
  std::atomic<ssh::SshDoor*> tunnels = nullptr;
  std::atomic<e2b::Boxes*> boxes_of_e2b = nullptr;
  count_events(options.sessions, metrics);
  options.sessions.audit = [&](session::Event event, const session::Session& session) {
    const bool is_gone = event == session::Event::closed || event == session::Event::expired ||
                         event == session::Event::idled || event == session::Event::ended ||
                         event == session::Event::left;
    if (e2b::Boxes* boxes = boxes_of_e2b; boxes && is_gone) boxes->forget(session.facts().id);
    metrics.count("cloche_sessions_total", fmt::format(R"(event="{}")", event_label(event)));
    log.event(http::LogLevel::info, event_name(event),
              {{"session_id", session.facts().id}, {"reason", std::string(event_reason(event))}});
  };
  options.sessions.came_due = [&](const std::shared_ptr<session::Session>& session) {
    e2b::Boxes* const boxes = boxes_of_e2b;
    return boxes && boxes->came_due(session);
  };
  options.sessions.stopping = [&](const session::Session& session) {
    if (e2b::Boxes* boxes = boxes_of_e2b) boxes->stopping(session);
    if (ssh::SshDoor* door = tunnels) door->drop(session.facts().id);
  };
  options.sessions.trouble = [&log](const std::string& sentence) {
    log.event(http::LogLevel::error, "state_trouble", {{"message", sentence}});
  };
  std::atomic<cluster::Router*> router_of_owners = nullptr;
  if (options.peers) {
    options.sessions.count_elsewhere = [&router_of_owners](const std::string& owner,
                                                           const session::Rank& rank) {
      cluster::Router* const others = router_of_owners;
      return others ? others->count_of(owner, rank) : session::CountElsewhere{};
    };
  }
  FileWatch tokens_watch(options.tokens_file);
  std::array tls_watches{FileWatch(options.http.tls_certificate), FileWatch(options.http.tls_key),
                         FileWatch(options.peer_authorities)};
  const auto given = options.isolation.tokens;
  const auto token_store =
      given ? given : std::make_shared<http::TokenStore>(options.tokens, options.tokens_file);
  http::TokenStore& tokens = *token_store;
  session::SessionManager sessions(engine, options.sessions);
  if (options.takes_keys) sessions.take_back_keys();
  ssh::SshDoor ssh({sessions, log, metrics, tokens,
                    [&audit](const ssh::Login& login) {
                      if (audit) record_login(login, *audit);
                    }},
                   {options.ssh_host_key, options.ssh_password});
  tunnels = &ssh;
  // What a worker uses is made before it, and so goes after it.
  std::optional<steps::StepDoor> steps;
  std::optional<rest::RestDoor> rest;
  std::optional<mcp::Hub> mcp_hub;
  std::optional<mcp::HttpDoor> mcp;
  http::LoginCookies logins(tokens);
  const http::OriginGuard guard(options.http.host, options.allowed_hosts, options.allowed_origins);
  std::optional<remote::RemoteDoor> remote;
  std::optional<e2b::Boxes> boxes;
  std::optional<e2b::E2bDoor> e2b_door;
  std::optional<grading::GradingDoor> grading;
  std::optional<Application> application;
  std::optional<cluster::PeerWire> peer_wire;
  std::optional<cluster::PeerTable> peers;
  std::optional<cluster::Router> router;
  std::optional<SshElsewhere> ssh_elsewhere;
  std::optional<Workers> isolated;
  AskedByServer asked_by_server;
  session::WorkerPool workers(worker_limit);
  const bool by_session = options.isolation.by == Isolation::By::session;
  define_gauges(metrics, sessions, workers, [&] {
    return isolated && by_session ? isolated->headroom() : sessions.room().headroom();
  });
  steps.emplace(steps::StepDoor::Parts{sessions, workers, log, metrics},
                steps::step_timeout_s(std::getenv("SBS_STEP_TIMEOUT_SEC")));
  std::atomic<bool> ending = false;
  if (spawner) isolated.emplace(*spawner, options, log, metrics);
  const auto not_ready = [&] {
    if (ending) return std::string("the server is about to end");
    if (audit) {
      if (std::string trouble = audit->trouble(); !trouble.empty()) return trouble;
    }
    return isolated ? isolated->not_ready() : sessions.save_trouble();
  };
  if (options.peers) {
    peer_wire.emplace(options.peer_authorities);
    peers.emplace(cluster::PeerTable::Options{
        .source = *options.peers,
        .self = options.sessions.cell,
        .token = options.peer_token,
        .wire = *peer_wire,
        .heard = [&sessions](const auto& report) { sessions.hear_of_rank(report.rank); }});
    router.emplace(
        cluster::Router::Parts{*peers, *peer_wire, sessions, metrics},
        cluster::Router::Options{.token = options.peer_token, .owner_rule = options.owner_rule});
    router_of_owners = &*router;
    ssh_elsewhere.emplace(*router);
    metrics.describe("cloche_forwarded_total", "What was passed on to other cells.");
    metrics.gauge("cloche_forwarding", "Requests that look for another cell, or wait for it.",
                  [&router] { return static_cast<double>(router->waiting()); });
    metrics.describe("cloche_owners_not_counted_total",
                     "New sessions for which a cell did not say how many their owner has.");
  }
  const auto report = [&] {
    sessions.let_go_of_taken_keys();
    return to_json(cluster::CellReport{.key = options.sessions.cell,
                                       .keys = sessions.keys(),
                                       .sessions = sessions.count(),
                                       .ready = not_ready().empty(),
                                       .headroom = sessions.room().headroom(),
                                       .rank = sessions.last_rank(),
                                       .version = CLOCHE_VERSION});
  };
  const auto answer_key = [&](const http::Request& request) {
    http::Response answer =
        answer_key_request(request, *router, options.sessions.cell,
                           options.takes_keys ? KeyRule::any : KeyRule::only_own);
    log.event(http::LogLevel::info, "key_asked",
              {{"request", fmt::format("{} {}", request.method, request.path)},
               {"status", std::to_string(answer.status)}});
    return answer;
  };
  const auto to_peer = [&](const http::Request& request,
                           const std::shared_ptr<http::Exchange>& exchange) {
    if (is_ssh_path(request.path)) return answer_ssh_request(request, exchange, sessions, ssh);
    exchange->send(is_key_path(request.path)                      ? answer_key(request)
                   : cluster::Router::is_count_path(request.path) ? router->answer_count(request)
                   : request.path == "/cell"
                       ? http::json_response(200, report())
                       : http::text_response(404, "cells know no such thing\n"));
  };
  cluster::Elsewhere* elsewhere = nullptr;
  if (router) elsewhere = &*router;
  if (by_session && isolated) elsewhere = &*isolated;
  if (by_session && is_worker) elsewhere = &asked_by_server;
  rest.emplace(
      rest::RestDoor::Parts{sessions, workers, log, metrics, tokens, ssh, not_ready, elsewhere},
      rest::RestDoor::Limits{options.requests_per_minute, options.sessions.sandbox.file_limit_bytes,
                             options.sessions.session_limit_per_owner});
  mcp_hub.emplace(
      mcp_options(options,
                  [&ending] { return std::string(ending ? "the server is about to end" : ""); }),
      [&engine]() -> Engine& { return engine; }, workers);
  // Who has a token may call a server that others reach by any name.
  const bool by_any_name = !tokens.empty() && !is_loopback(options.http.host);
  const http::OriginGuard mcp_guard(
      options.http.host, by_any_name ? std::vector<std::string>{"*"} : options.allowed_hosts,
      options.allowed_origins);
  mcp.emplace(mcp::HttpDoor::Parts{*mcp_hub, tokens, mcp_guard});
  remote.emplace(
      remote::Parts{engine, sessions, workers, not_ready,
                    [&metrics] {
                      return static_cast<std::uint64_t>(metrics.sum("cloche_http_requests_total"));
                    }},
      remote::RemoteDoor::Doorkeepers{tokens, logins, guard});
  boxes.emplace(engine, sessions, workers, e2b_options(options.sessions.sandbox, options.e2b),
                options.sessions.grants, options.e2b.images);
  boxes_of_e2b = &*boxes;
  // The sessions end after them.
  const std::unique_ptr<std::atomic<e2b::Boxes*>, void (*)(std::atomic<e2b::Boxes*>*)> unset(
      &boxes_of_e2b, [](std::atomic<e2b::Boxes*>* known) { *known = nullptr; });
  e2b_door.emplace(e2b::E2bDoor::Parts{*boxes, workers, tokens}, options.e2b);
  grading.emplace(grading::GradingDoor::Parts{engine, workers, tokens, metrics},
                  options.sessions.sandbox);
  console::ConsoleDoor console({tokens, logins, guard});
  application.emplace(
      Application::Parts{*steps, *rest, *mcp, *remote, options.use_console ? &console : nullptr,
                         *e2b_door, *grading, metrics, log, guard, tokens,
                         router ? &*router : nullptr, to_peer, isolated ? &*isolated : nullptr,
                         recorders},
      options.api);
  http::Server server(options.http, *application);
  // Who asks for more is let in, counted and recorded by the server first.
  if (is_worker) server.close_after_answers();
  std::optional<e2b::DebugListeners> debug;
  if (options.e2b.listens_for_debug) debug.emplace(*boxes, *e2b_door);
  std::optional<WorkerLink> link;
  if (is_worker) {
    link.emplace(std::move(channel), server, [&sessions, &hub = *mcp_hub] {
      return sessions.count() == 0 && hub.boxes() == 0;
    });
  }
  if (options.use_ssh_port)
    ssh.listen(options.http.host, options.ssh_port, ssh_elsewhere ? &*ssh_elsewhere : nullptr);

  if (const auto& own = options.http.own_certificate)
    log.event(http::LogLevel::info, "certificate_made", {{"sha256", own->fingerprint}});
  const bool is_ipv6 = options.http.host.find(':') != std::string::npos;
  if (!is_worker)
    log.event(http::LogLevel::info, "listening",
              {{"url", fmt::format("{}://{}:{}", options.http.has_tls() ? "https" : "http",
                                   is_ipv6 ? "[" + options.http.host + "]" : options.http.host,
                                   server.port())},
               {"api", options.api == Api::steps ? "steps" : "sessions"},
               {"tokens", tokens.empty() ? "none, so only this machine may connect"
                                         : std::to_string(tokens.size())}});
  // All programs are compiled one after another, so that the first steps need not wait for more than
  // theirs. What a worker needs of them it reads.
  std::future<void> prepared;
  const auto cannot_prepare = [&log](const std::exception& error) {
    log.event(http::LogLevel::error, "cannot_prepare", {{"message", error.what()}});
  };
  try {
    if (!is_worker) {
      prepared = std::async(std::launch::async, [&] {
        try {
          engine.prepare();
        } catch (const std::exception& error) {
          cannot_prepare(error);
        }
      });
    }
  } catch (const std::system_error& error) {
    cannot_prepare(error);  // without a thread for it what is asked for is compiled when it is
  }

  const auto read_tokens = [&] {
    if (options.tokens_file.empty()) return;
    try {
      tokens.reload();
      log.event(http::LogLevel::info, "tokens_read", {{"tokens", std::to_string(tokens.size())}});
    } catch (const HostError& error) {
      log.event(http::LogLevel::error, "tokens_not_read", {{"message", error.what()}});
    }
  };
  const auto read_certificate = [&] {
    if (options.http.tls_certificate.empty()) return;
    try {
      server.read_certificate();
      if (peer_wire) peer_wire->read_authorities();
      log.event(http::LogLevel::info, "certificate_read", {});
    } catch (const HostError& error) {
      log.event(http::LogLevel::error, "certificate_not_read", {{"message", error.what()}});
    }
  };
  const auto reopen_audit = [&] {
    const auto problem = audit ? audit->reopen() : std::nullopt;
    if (problem) log.event(http::LogLevel::error, "audit_not_reopened", {{"message", *problem}});
  };
  signals.wait_for_end(
      [&] {
        if (tokens_watch.has_changed()) read_tokens();
        const auto changed =
            std::ranges::count_if(tls_watches, [](FileWatch& file) { return file.has_changed(); });
        if (changed > 0) read_certificate();
      },
      [&] {
        read_tokens();
        read_certificate();
        reopen_audit();
      });
  ending = true;
  log.event(http::LogLevel::info, "ending", {{"sessions", std::to_string(sessions.count())}});
  // A worker is asked once by its server, once by the spawner, and means the same by both.
  if (!is_worker) signals.unblock();
  sessions.stop_creating();
  server.close_after_answers();
  if (debug) debug->close_after_answers();
  std::this_thread::sleep_for(options.drain_notice);
  // What runs may end, whichever door it came by.
  const auto deadline = std::chrono::steady_clock::now() + options.drain;
  if (isolated) isolated->begin_to_end();
  ssh.end_idle();
  mcp->end_listening();
  server.drain(options.drain);
  if (debug) debug->drain(std::chrono::milliseconds(0));
  mcp->stop();
  ssh.wait_until_empty(std::chrono::ceil<std::chrono::milliseconds>(
      std::max(deadline - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0))));
  ssh.stop();
  remote->stop();
  grading->stop();
  sessions.end();
  boxes->wait_for_end();
  tunnels = nullptr;  // it goes before the sessions do
  if (isolated) isolated->stop();
  server.drain(std::chrono::seconds(2));
  if (spans) spans->stop();
  log.event(http::LogLevel::info, "ended", {});
  const int status = isolated && isolated->is_lost() ? lost_status : 0;
  // A compilation cannot be stopped, and nobody waits for it any more.
  if (prepared.valid() && prepared.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    ::_exit(status);
  return status;
}

int serve(Options options) {
  const Signals signals(!options.tokens_file.empty() || options.audit_log.has_value() ||
                        !options.http.tls_certificate.empty());
  if (options.isolation.by == Isolation::By::nothing)
    return serve_here(std::move(options), signals, nullptr, UniqueFd());
  const std::uint64_t memory_bytes = options.isolation.worker_memory_bytes;
  cluster::Spawner spawner({.memory_limit_bytes = memory_bytes + memory_bytes / 4,
                            .grace = options.drain + ending_grace,
                            .signals = signals.mask_before()},
                           [&options](cluster::WorkerTask task) {
                             const Signals its_own(false);
                             Options its_options = worker_options(options, task);
                             return serve_here(std::move(its_options), its_own, nullptr,
                                               std::move(task.channel));
                           });
  return serve_here(front_options(options), signals, &spawner, UniqueFd());
}

bool wants_help(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

}  // namespace

int serve_command(const std::vector<std::string>& words) {
  if (wants_help(words)) {
    fmt::print("{}", help_page());
    return 0;
  }
  try {
    return serve(parse(words, Api::sessions));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::request) throw;
    fmt::print(stderr, "cloche serve: {}; see cloche serve --help\n", error.sentence());
    return usage_status;
  }
}

int sbs_command(const std::string& name, const std::vector<std::string>& words) {
  const std::string usage = fmt::format(
      "usage: {0} [-h] {{run,skill}} ...\n"
      "       {0} run [-h] [--host HOST] [--port PORT]\n",
      name);
  static constexpr const char* help = R"page(
Session-based sandboxes over HTTP.

  run      start the server; it also takes the options of `cloche serve`
             --host HOST   where it listens (127.0.0.1)
             --port PORT   (8000)
  skill    print the page from which an agent learns to use it

SBS_STEP_TIMEOUT_SEC is the time limit of a step in seconds (30). API for a person: /docs
)page";
  if (!words.empty() && (words[0] == "skill" || words[0] == "run") && !wants_help(words)) {
    if (words[0] == "skill" && words.size() == 1) {
      fmt::print("{}", steps::skill_page());
      return 0;
    }
    try {
      if (words[0] == "run") return serve(parse({words.begin() + 1, words.end()}, Api::steps));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::request) throw;
      fmt::print(stderr, "{}{}: error: {}\n", usage, name, error.sentence());
      return usage_status;
    }
  }
  if (wants_help(words)) {
    fmt::print("{}{}", usage, help);
    return 0;
  }
  fmt::print(stderr, "{}{}: error: {}\n", usage, name,
             words.empty()         ? "the following arguments are required: command"
             : words[0] == "skill" ? "skill takes no arguments"
                                   : "argument command: invalid choice: '" + words[0] +
                                         "' (choose from 'run', 'skill')");
  return usage_status;
}

}  // namespace cloche::serve
