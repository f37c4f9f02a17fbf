// SPDX-License-Identifier: Apache-2.0
// What the command line of `cloche serve` and `sbs` asks for, as a value.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/address.h"
#include "cluster/router.h"
#include "doors/e2b/e2b_door.h"
#include "doors/http/log.h"
#include "doors/http/server.h"
#include "doors/http/token_store.h"
#include "doors/mcp/hub.h"
#include "doors/telemetry/audit_log.h"
#include "doors/telemetry/span_exporter.h"
#include "session/session_manager.h"

namespace cloche::serve {

enum class Api { sessions, steps };  // which of the two is at the root

// Sandboxes in processes of their own: a worker for each owner, or for each session.
struct Isolation {
  enum class By : std::uint8_t { nothing, owner, session };
  By by = By::nothing;
  std::size_t worker_limit = 64;
  std::uint64_t worker_memory_bytes = 0;  // 0: as much as there is
  std::chrono::seconds idle{60};          // a worker that has nothing for that long ends
  std::string state_folder;               // of the server, for its workers' keys
  // Of a worker: who has let its requests in. Null: everybody is the same owner.
  std::shared_ptr<http::TokenStore> tokens;
};

struct Options {
  Api api = Api::sessions;
  http::ServerOptions http;
  bool makes_certificate = false;            // for TLS, when it starts: http.own_certificate
  std::vector<std::string> allowed_hosts;    // names that the server has besides its own; "*": any
  std::vector<std::string> allowed_origins;  // whose pages may ask
  std::vector<std::string> tokens;
  std::string tokens_file;
  std::uint64_t requests_per_minute = 0;  // of a token; 0: any number
  http::LogFormat log_format = http::LogFormat::text;
  session::ManagerOptions sessions;
  bool has_session_options = false;  // sessions.sandbox is not the usual one
  // Of sandboxes by the Model Context Protocol, besides what sessions have.
  bool has_mcp_options = false;  // packages or rules of the network were named
  std::vector<std::string> mcp_packages;
  std::vector<std::string> mcp_network;
  std::vector<std::string> mcp_allow;
  mcp::ToolSet mcp_tools = mcp::ToolSet::all;
  bool use_console = true;
  bool use_ssh_port = false;
  std::uint16_t ssh_port = 0;
  e2b::DoorOptions e2b;
  std::string ssh_host_key;  // a file; empty: the usual place
  std::string ssh_password;  // one that opens every session; empty: none
  Isolation isolation;
  std::optional<cluster::PeerSource> peers;  // the other cells
  std::string peer_authorities;              // of cluster::PeerWire
  std::string peer_token;                    // that they know each other by
  std::string peer_token_file;               // where that lies
  cluster::OwnerRule owner_rule = cluster::OwnerRule::those_that_answer;
  bool takes_keys = false;                        // of other cells, with their folders
  std::optional<telemetry::Collector> collector;  // of traces
  std::optional<telemetry::AuditLog::Target> audit_log;
  std::chrono::seconds drain{3};         // for what runs when it is asked to end
  std::chrono::seconds drain_notice{0};  // before that it takes requests, and says that it will end
};

// Reads what follows the command's name. Throws an Error of kind request for a line that cannot be
// understood.
Options parse(const std::vector<std::string>& words, Api api);

std::string help_page();

// Whether only this machine reaches what listens there.
bool is_loopback(const std::string& host);

}  // namespace cloche::serve
