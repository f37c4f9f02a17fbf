// SPDX-License-Identifier: Apache-2.0
// ServerProcess: what a server stands on before it serves anything: its options, log, metrics and
// records, the jail that its process is in, and the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cloche/engine.h"
#include "doors/http/log.h"
#include "doors/http/metrics.h"
#include "doors/mcp/hub.h"
#include "doors/serve/options.h"
#include "doors/telemetry/audit_log.h"
#include "doors/telemetry/recorders.h"
#include "doors/telemetry/span_exporter.h"

namespace cloche::serve {

// The options of sandboxes by the Model Context Protocol. `refusal`: of mcp::HubOptions.
mcp::HubOptions mcp_options(const Options& options, std::function<std::string()> refusal);
// And of those of E2B's clients.
SandboxOptions e2b_options(const Options& options);

struct ServerProcess {
  enum class Role : std::uint8_t { server, worker };

  // To be made before the first thread starts. Throws HostError where the host refuses something,
  // and an Error of kind request where no sandbox can be made as the options say.
  ServerProcess(Options given, Role role);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  Options options;  // the jail names in them what it has found
  http::Log log;
  http::Metrics metrics;
  std::optional<telemetry::AuditLog> audit;
  std::optional<telemetry::SpanExporter> spans;
  telemetry::Recorders recorders;
  EngineOptions engine_options;  // as the jail has made them
  Engine engine;

  // Why no sandboxes can be made here at present, or ever; empty: they can. The log says it once,
  // too.
  std::string engine_trouble();

 private:
  const EngineOptions& enter();
  void begin_records();
  void try_sandboxes();

  std::atomic<bool> has_told_trouble_ = false;
};

}  // namespace cloche::serve
