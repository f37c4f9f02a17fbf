// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/server_process.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/host_error.h"
#include "base/host_files.h"
#include "base/process_jail.h"
#include "base/random.h"
#include "doors/serve/jail.h"
#include "sandbox/host_needs.h"

namespace cloche::serve {
namespace {

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

Options checked(Options options) {
  check_descriptors();
  if (options.makes_certificate) options.http.own_certificate = http::make_own_certificate();
  return options;
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

// By which traces tell it from other servers.
std::string instance_name(const Options& options) {
  const session::CellKey cell = options.sessions.cell;
  return cell == 0 ? random_hex(8) : fmt::format("cell-{}", cell);
}

}  // namespace

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
  hub.sandbox_limit_per_owner = options.sessions.session_limit_per_owner;
  hub.idle_timeout = options.sessions.idle_timeout;
  hub.refusal = std::move(refusal);
  return hub;
}

// What its clients expect to find: the usual packages, where the operator names none.
SandboxOptions e2b_options(const Options& options) {
  SandboxOptions sandbox = options.sessions.sandbox;
  sandbox.network.allow.insert(sandbox.network.allow.end(), options.e2b.network.begin(),
                               options.e2b.network.end());
  if (sandbox.packages.empty() && sandbox.image.empty())
    sandbox.packages.assign(mcp::usual_packages.begin(), mcp::usual_packages.end());
  sandbox.isolation = options.e2b.isolation;
  return sandbox;
}

ServerProcess::ServerProcess(Options given, Role role)
    : options(checked(std::move(given))), log(options.log_format), engine(enter()) {
  hide_memory();
  // A worker's server has tried them.
  if (role == Role::server) try_sandboxes();
}

std::string ServerProcess::engine_trouble() {
  std::string trouble = sandbox::trouble_of_natives(engine_options);
  if (has_told_trouble_.exchange(!trouble.empty()) || trouble.empty()) return trouble;
  log.event(http::LogLevel::error, "linux_engine_stopped", {{"message", trouble}});
  return trouble;
}

const EngineOptions& ServerProcess::enter() {
  engine_options.progress = [this](std::string_view line) {
    log.event(http::LogLevel::info, "compiling", {{"message", std::string(line)}});
  };
  for (const std::string& sentence : enter_jail(options, engine_options))
    log.event(http::LogLevel::warning, "jail_incomplete", {{"message", sentence}});
  if (engine_options.natives) {
    constexpr const char* ends = "cloche_linux_engine_ends_total";
    metrics.describe(ends, "How often cloche-warden has ended, and all its sandboxes with it.");
    metrics.count(ends, {}, 0);
    sandbox::watch_natives(engine_options, [this] {
      metrics.count(ends);
      log.event(
          http::LogLevel::error, "linux_engine_ended",
          {{"message",
            "something has ended cloche-warden, and all sandboxes of the linux engine with it"}});
    });
  }
  begin_records();
  return engine_options;
}

void ServerProcess::begin_records() {
  if (options.audit_log) audit.emplace(*options.audit_log, host_files(), metrics);
  if (options.collector) {
    spans.emplace(
        telemetry::SpanExporter::Options{.collector = *options.collector,
                                         .resource = {CLOCHE_VERSION, instance_name(options)}},
        metrics);
  }
  recorders = {spans ? &*spans : nullptr, audit ? &*audit : nullptr};
  options.sessions.witness = [this](const session::LoggedEvent& event) {
    telemetry::record_event(event, recorders);
    if (event.kind != "network.left_out") return;
    metrics.count("cloche_network_events_left_out_total", {}, static_cast<double>(event.count));
    log.event(http::LogLevel::warning, "network_events_left_out",
              {{"session_id", event.session_id}, {"count", event.count}});
  };
}

// An image file that is not for this program, an unknown package, a folder that is not there: the
// operator must hear of it now.
void ServerProcess::try_sandboxes() {
  if (options.has_session_options) try_sandbox(engine, options.sessions.sandbox, "session");
  if (options.has_mcp_options)
    try_sandbox(engine, mcp_options(options, {}).sandbox, "sandbox of /mcp");
  e2b::try_images(engine, e2b_options(options), options.e2b.images);
}

}  // namespace cloche::serve
