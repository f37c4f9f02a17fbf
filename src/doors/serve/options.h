// SPDX-License-Identifier: Apache-2.0
// What the command line of `cloche serve` and `sbs` asks for, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/address.h"
#include "doors/http/log.h"
#include "doors/http/server.h"
#include "doors/mcp/hub.h"
#include "session/session_manager.h"

namespace cloche::serve {

enum class Api { sessions, steps };  // which of the two is at the root

struct Options {
  Api api = Api::sessions;
  http::ServerOptions http;
  std::vector<std::string> allowed_hosts;    // names that the server has besides its own; "*": any
  std::vector<std::string> allowed_origins;  // whose pages may ask
  std::vector<std::string> tokens;
  std::string tokens_file;
  std::uint64_t requests_per_minute = 0;  // of a token; 0: any number
  http::LogFormat log_format = http::LogFormat::text;
  session::ManagerOptions sessions;
  // Of sandboxes by the Model Context Protocol, besides what sessions have.
  std::vector<std::string> mcp_packages;
  std::vector<std::string> mcp_network;
  std::vector<std::string> mcp_allow;
  mcp::ToolSet mcp_tools = mcp::ToolSet::all;
  bool use_ssh_port = false;
  std::uint16_t ssh_port = 0;
  std::string ssh_host_key;                  // a file; empty: the usual place
  std::string ssh_password;                  // one that opens every session; empty: none
  std::optional<cluster::PeerSource> peers;  // the other cells
  std::string peer_token;                    // that they know each other by
  std::chrono::seconds drain{3};             // for what runs when it is asked to end
  std::chrono::seconds drain_notice{0};  // before that it takes requests, and says that it will end
};

// The line cannot be understood: one sentence.
struct UsageError {
  std::string sentence;
};

// Reads what follows the command's name. Throws UsageError.
Options parse(const std::vector<std::string>& words, Api api);

const char* help_page();

// Whether only this machine reaches what listens there.
bool is_loopback(const std::string& host);

}  // namespace cloche::serve
