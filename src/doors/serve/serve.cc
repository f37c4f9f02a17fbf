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
#include <thread>

#include "base/host_error.h"
#include "base/process_jail.h"
#include "cloche/engine.h"
#include "doors/http/token_store.h"
#include "doors/mcp/http_door.h"
#include "doors/serve/application.h"
#include "doors/serve/figures.h"
#include "doors/serve/jail.h"
#include "doors/ssh/ssh_door.h"
#include "doors/steps/pages.h"

namespace cloche::serve {
namespace {

constexpr int usage_status = 2;
constexpr std::size_t worker_limit = 2048;

// SIGTERM and SIGINT, and SIGHUP where it means to read tokens again, are waited for, not caught.
// Blocked before the first thread starts.
class Signals {
 public:
  explicit Signals(bool with_reload) {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    if (with_reload) sigaddset(&set_, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // Until it is asked to end; calls `reload` for each SIGHUP.
  void wait_for_end(const std::function<void()>& reload) const {
    for (int number = 0; number != SIGTERM && number != SIGINT;) {
      if (::sigwait(&set_, &number) == 0 && number == SIGHUP) reload();
    }
  }
  // From here on a second signal ends the program at once.
  void unblock() const { ::pthread_sigmask(SIG_UNBLOCK, &set_, nullptr); }

 private:
  sigset_t set_{};
};

// A connection is a descriptor, and so are a sandbox's memory and files: as many as the host lets the
// process have.
void take_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
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

int serve(Options options) {
  const Signals signals(!options.tokens_file.empty());
  take_all_descriptors();
  http::Log log(options.log_format);
  http::Metrics metrics;
  EngineOptions engine_options;
  engine_options.progress = [&log](std::string_view line) {
    log.event(http::LogLevel::info, "compiling", {{"message", std::string(line)}});
  };
  for (const std::string& sentence : enter_jail(options, engine_options))
    log.event(http::LogLevel::warning, "jail_incomplete", {{"message", sentence}});
  Engine engine(engine_options);
  hide_memory();
  // A file that is no image, or not for this program, is the operator's to hear of now.
  if (!options.sessions.sandbox.image.empty()) {
    try {
      (void)engine.create(options.sessions.sandbox);
    } catch (const std::exception& error) {
      throw UsageError{fmt::format("--image: {}", error.what())};
    }
  }
  std::atomic<ssh::SshDoor*> tunnels = nullptr;
  tell_figures(options.sessions, metrics);
  options.sessions.audit = [&](session::Event event, const session::Session& session) {
    metrics.count("cloche_sessions_total", fmt::format(R"(event="{}")", event_label(event)));
    log.event(http::LogLevel::info, event_name(event),
              {{"session_id", session.facts().id}, {"reason", std::string(event_reason(event))}});
  };
  options.sessions.stopping = [&tunnels](const session::Session& session) {
    if (ssh::SshDoor* door = tunnels) door->drop(session.facts().id);
  };
  options.sessions.trouble = [&log](const std::string& sentence) {
    log.event(http::LogLevel::error, "state_trouble", {{"message", sentence}});
  };
  http::TokenStore tokens(options.tokens, options.tokens_file);
  session::SessionManager sessions(engine, options.sessions);
  ssh::SshDoor ssh({sessions, log, metrics, tokens}, {options.ssh_host_key, options.ssh_password});
  tunnels = &ssh;
  // What a worker uses is made before it, and so goes after it.
  std::optional<steps::StepDoor> steps;
  std::optional<rest::RestDoor> rest;
  std::optional<mcp::Hub> mcp_hub;
  std::optional<mcp::HttpDoor> mcp;
  http::LoginCookies logins;
  const http::OriginGuard guard(options.http.host, options.allowed_hosts, options.allowed_origins);
  std::optional<remote::RemoteDoor> remote;
  std::optional<Application> application;
  std::optional<cluster::PeerTable> peers;
  std::optional<cluster::Router> router;
  session::WorkerPool workers(worker_limit);
  define_figures(metrics, sessions, workers);
  steps.emplace(steps::StepDoor::Parts{sessions, workers, log, metrics},
                steps::step_timeout_s(std::getenv("SBS_STEP_TIMEOUT_SEC")));
  std::atomic<bool> ending = false;
  const auto not_ready = [&] {
    return ending ? std::string("the server is about to end") : sessions.save_trouble();
  };
  if (options.peers) {
    peers.emplace(
        cluster::PeerTable::Options{*options.peers, options.sessions.cell, options.peer_token});
    router.emplace(cluster::Router::Parts{*peers, sessions, metrics},
                   cluster::Router::Options{options.peer_token});
    metrics.describe("cloche_forwarded_total", "What was passed on to other cells.");
  }
  const auto report = [&] {
    return to_json(cluster::CellReport{options.sessions.cell, not_ready().empty(),
                                       sessions.room().headroom(), CLOCHE_VERSION});
  };
  rest.emplace(
      rest::RestDoor::Parts{sessions, workers, log, metrics, tokens, ssh, not_ready,
                            router ? &*router : nullptr},
      rest::RestDoor::Limits{options.requests_per_minute, options.sessions.sandbox.file_limit_bytes,
                             options.sessions.session_limit_per_owner});
  try {
    mcp_hub.emplace(
        mcp_options(options,
                    [&ending] { return std::string(ending ? "the server is about to end" : ""); }),
        [&engine]() -> Engine& { return engine; }, workers);
  } catch (const std::invalid_argument& problem) {
    throw UsageError{problem.what()};
  }
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
  application.emplace(Application::Parts{*steps, *rest, *mcp, *remote, metrics, log, guard, tokens,
                                         router ? &*router : nullptr, report},
                      options.api);
  http::Server server(options.http, *application);
  if (options.use_ssh_port) ssh.listen(options.http.host, options.ssh_port);

  log.event(http::LogLevel::info, "listening",
            {{"url", fmt::format("{}://{}:{}", options.http.tls_key.empty() ? "http" : "https",
                                 options.http.host, server.port())},
             {"api", options.api == Api::steps ? "steps" : "sessions"},
             {"tokens", tokens.empty() ? "none, so only this machine may connect"
                                       : std::to_string(tokens.size())}});
  // All programs are compiled by and by, so that the first steps need not wait for more than
  // theirs.
  std::future<void> prepared = std::async(std::launch::async, [&] {
    try {
      engine.prepare();
    } catch (const std::exception& error) {
      log.event(http::LogLevel::error, "cannot_prepare", {{"message", error.what()}});
    }
  });

  signals.wait_for_end([&] {
    try {
      tokens.reload();
      log.event(http::LogLevel::info, "tokens_read", {{"tokens", std::to_string(tokens.size())}});
    } catch (const HostError& error) {
      log.event(http::LogLevel::error, "tokens_not_read", {{"message", error.what()}});
    }
  });
  ending = true;
  log.event(http::LogLevel::info, "ending", {{"sessions", std::to_string(sessions.count())}});
  signals.unblock();
  sessions.stop_creating();
  server.close_after_answers();
  std::this_thread::sleep_for(options.drain_notice);
  // What runs may end, whichever door it came by.
  const auto deadline = std::chrono::steady_clock::now() + options.drain;
  ssh.end_idle();
  mcp->end_listening();
  server.drain(options.drain);
  mcp->stop();
  ssh.wait_until_empty(std::chrono::ceil<std::chrono::milliseconds>(
      std::max(deadline - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0))));
  ssh.stop();
  remote->stop();
  sessions.end();
  tunnels = nullptr;  // it goes before the sessions do
  server.drain(std::chrono::seconds(2));
  log.event(http::LogLevel::info, "ended", {});
  // A compilation cannot be stopped, and nobody waits for it any more.
  if (prepared.wait_for(std::chrono::seconds(0)) != std::future_status::ready) ::_exit(0);
  return 0;
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
  } catch (const UsageError& error) {
    fmt::print(stderr, "cloche serve: {}; see cloche serve --help\n", error.sentence);
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
    } catch (const UsageError& error) {
      fmt::print(stderr, "{}{}: error: {}\n", usage, name, error.sentence);
      return usage_status;
    }
  }
  if (wants_help(words)) {
    fmt::print("{}{}", usage, help);
    return 0;
  }
  fmt::print(stderr, "{}{}: error: {}\n", usage, name,
             words.empty() ? "the following arguments are required: command"
                           : "argument command: invalid choice: '" + words[0] +
                                 "' (choose from 'run', 'skill')");
  return usage_status;
}

}  // namespace cloche::serve
