// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <span>

#include "base/error.h"
#include "base/units.h"
#include "doors/http/origin_guard.h"
#include "sandbox/options/sandbox_option.h"

namespace cloche::serve {
namespace {

struct Setting {
  std::string_view name;
  Setter set;
};

struct Switch {
  std::string_view name;
  void (*turn)(Options& options);
};

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

template <typename Number>
Number need_number(const std::string& name, const std::string& text, Number least = 0) {
  const auto value = number_of<Number>(text);
  if (!value || *value < least) {
    const std::string range = sizeof(Number) > sizeof(std::uint16_t)
                                  ? std::string()
                                  : " from " + std::to_string(least) + " to " +
                                        std::to_string(std::numeric_limits<Number>::max());
    throw request_error(name + " wants a number" + range + ", not '" + text + "'");
  }
  return *value;
}

std::uint64_t need_bytes(const std::string& name, const std::string& text) {
  const auto value = parse_bytes(text);
  if (!value || *value == 0)
    throw request_error(name + " wants a number of bytes, such as 512M or 2G; not '" + text + "'");
  return *value;
}

std::chrono::seconds need_seconds(const std::string& name, const std::string& text) {
  const auto value = parse_duration(text, std::chrono::seconds(1));
  if (!value)
    throw request_error(name + " wants seconds, or a time such as 90s, 30m or 2h; not '" + text +
                        "'");
  return std::chrono::duration_cast<std::chrono::seconds>(*value);
}

// NAME=IMAGE
void read_template(e2b::DoorOptions& options, const std::string& name, const std::string& value) {
  const std::size_t equals = value.find('=');
  const std::string id = value.substr(0, equals);
  static constexpr const char* letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
  if (equals == value.npos || id.empty() || equals + 1 == value.size() ||
      id.find_first_not_of(letters) != id.npos) {
    throw request_error(name +
                        " wants NAME=IMAGE, the NAME of letters, digits and - _ . /, such as "
                        "debian=debian; not '" +
                        value + "'");
  }
  if (!options.images.emplace(id, value.substr(equals + 1)).second)
    throw request_error(name + " says twice what " + id + " is");
}

// Who may connect, and what one may take of the server.
constexpr std::array client_settings{
    Setting{"--api",
            [](Said& to, const Word& word) {
              if (word.value != "sessions" && word.value != "steps")
                throw request_error("--api wants sessions or steps, not '" + word.value + "'");
              to.options.api = word.value == "steps" ? Api::steps : Api::sessions;
            }},
    Setting{"--host",
            [](Said& to, const Word& word) {
              // As it stands in an address of the web: [::1].
              const bool has_brackets = word.value.starts_with('[') && word.value.ends_with(']');
              to.options.http.host =
                  has_brackets ? word.value.substr(1, word.value.size() - 2) : word.value;
              if (to.options.http.host.empty())
                throw request_error(word.name + " wants an address, such as 127.0.0.1 or ::1");
            }},
    Setting{"--port",
            [](Said& to, const Word& word) {
              to.options.http.port = need_number<std::uint16_t>(word.name, word.value);
            }},
    Setting{"--allow-host",
            [](Said& to, const Word& word) {
              if (word.value.empty() || word.value.find_first_of("/@ ") != word.value.npos)
                throw request_error(word.name + " wants a name such as box.example, or *; not '" +
                                    word.value + "'");
              to.options.allowed_hosts.push_back(word.value);
            }},
    Setting{"--allow-origin",
            [](Said& to, const Word& word) {
              if (!http::OriginGuard::is_origin(word.value)) {
                throw request_error(word.name +
                                    " wants an origin such as https://app.example, not '" +
                                    word.value + "'");
              }
              to.options.allowed_origins.push_back(word.value);
            }},
    Setting{"--tls-cert",
            [](Said& to, const Word& word) { to.options.http.tls_certificate = word.value; }},
    Setting{"--tls-key", [](Said& to, const Word& word) { to.options.http.tls_key = word.value; }},
    Setting{"--token",
            [](Said& to, const Word& word) {
              if (word.value.empty())
                throw request_error(word.name + " wants a token that is not empty");
              to.options.tokens.push_back(word.value);
            }},
    Setting{"--tokens-file",
            [](Said& to, const Word& word) { to.options.tokens_file = word.value; }},
    Setting{"--max-connections",
            [](Said& to, const Word& word) {
              to.options.http.connection_limit = need_number<std::size_t>(word.name, word.value);
              if (to.options.http.connection_limit < 4)
                throw request_error(word.name + " wants 4 at least");
            }},
    Setting{"--unsent-limit",
            [](Said& to, const Word& word) {
              to.options.http.unsent_limit_bytes = need_bytes(word.name, word.value);
            }},
    Setting{"--received-limit",
            [](Said& to, const Word& word) {
              to.options.http.received_limit_bytes = need_bytes(word.name, word.value);
            }},
    Setting{"--rate-limit",
            [](Said& to, const Word& word) {
              to.options.requests_per_minute = need_number<std::uint64_t>(word.name, word.value);
            }},
};

// How many sessions there are, for how long, and where they are kept.
constexpr std::array session_settings{
    Setting{"--max-sessions",
            [](Said& to, const Word& word) {
              to.options.sessions.session_limit = need_number<std::size_t>(word.name, word.value);
            }},
    Setting{"--max-token-sessions",
            [](Said& to, const Word& word) {
              to.options.sessions.session_limit_per_owner =
                  need_number<std::size_t>(word.name, word.value);
              to.has_token_limit = true;
            }},
    Setting{
        "--idle-timeout",
        [](Said& to, const Word& word) { to.idle_timeout = need_seconds(word.name, word.value); }},
    Setting{"--memory-limit",
            [](Said& to, const Word& word) {
              to.options.sessions.memory_limit_bytes = need_bytes(word.name, word.value);
            }},
    Setting{"--state-dir",
            [](Said& to, const Word& word) {
              if (word.value.empty()) throw request_error(word.name + " wants a folder");
              to.options.sessions.state_folder = word.value;
            }},
    Setting{"--save",
            [](Said& to, const Word& word) {
              using session::SavePolicy;
              const auto time = parse_duration(word.value, std::chrono::seconds(1));
              if (word.value != "always" && word.value != "pause" &&
                  (!time || *time < std::chrono::seconds(1)))
                throw request_error(word.name + " wants always, pause or seconds, not '" +
                                    word.value + "'");
              to.options.sessions.save_policy = word.value == "always"  ? SavePolicy::always
                                                : word.value == "pause" ? SavePolicy::pause
                                                                        : SavePolicy::interval;
              if (time)
                to.options.sessions.save_interval =
                    std::chrono::duration_cast<std::chrono::seconds>(*time);
              to.has_save = true;
            }},
};

constexpr std::array mcp_settings{
    Setting{"--mcp-packages",
            [](Said& to, const Word& word) {
              for (std::size_t at = 0; at < word.value.size();) {
                const std::size_t end = std::min(word.value.find(',', at), word.value.size());
                if (end > at) to.options.mcp_packages.push_back(word.value.substr(at, end - at));
                at = end + 1;
              }
            }},
    Setting{"--mcp-network",
            [](Said& to, const Word& word) { to.options.mcp_network.push_back(word.value); }},
    Setting{"--mcp-allow",
            [](Said& to, const Word& word) { to.options.mcp_allow.push_back(word.value); }},
    Setting{"--mcp-tools",
            [](Said& to, const Word& word) {
              const auto set = mcp::tool_set_of(word.value);
              if (!set)
                throw request_error(word.name + " wants all, minimal or anthropic, not '" +
                                    word.value + "'");
              to.options.mcp_tools = *set;
            }},
};

constexpr std::array ssh_settings{
    Setting{"--ssh-port",
            [](Said& to, const Word& word) {
              to.options.ssh_port = need_number<std::uint16_t>(word.name, word.value);
              to.options.use_ssh_port = true;
            }},
    Setting{"--ssh-host-key",
            [](Said& to, const Word& word) { to.options.ssh_host_key = word.value; }},
    Setting{"--ssh-password",
            [](Said& to, const Word& word) { to.options.ssh_password = word.value; }},
};

constexpr std::array e2b_settings{
    Setting{"--domain",
            [](Said& to, const Word& word) {
              if (word.value.empty() || word.value.find_first_of("/@ ") != word.value.npos)
                throw request_error(word.name + " wants a name such as box.example; not '" +
                                    word.value + "'");
              to.options.e2b.domain = word.value;
            }},
    Setting{
        "--e2b-template",
        [](Said& to, const Word& word) { read_template(to.options.e2b, word.name, word.value); }},
    Setting{
        "--e2b-net",
        [](Said& to, const Word& word) {
          const auto rules = sandbox::grant_of(*sandbox::find_option("net"), word.name, word.value)
                                 .value.network.allow;
          to.options.e2b.network.insert(to.options.e2b.network.end(), rules.begin(), rules.end());
        }},
    Setting{"--e2b-build-net",
            [](Said& to, const Word& word) { to.options.e2b.build_network.push_back(word.value); }},
};

// One of several servers, and its end.
constexpr std::array cell_settings{
    Setting{"--cell-key",
            [](Said& to, const Word& word) {
              to.options.sessions.cell = need_number<session::CellKey>(word.name, word.value, 1);
            }},
    Setting{"--peers",
            [](Said& to, const Word& word) {
              to.options.peers = cluster::PeerSource::parse(word.value);
              if (!to.options.peers) {
                throw request_error(word.name +
                                    " wants HOST:PORT,..., dns:NAME:PORT or file:FILE, not '" +
                                    word.value + "'");
              }
            }},
    Setting{"--peer-ca",
            [](Said& to, const Word& word) { to.options.peer_authorities = word.value; }},
    Setting{"--peer-token-file",
            [](Said& to, const Word& word) {
              to.options.peer_token_file = word.value;
              std::ifstream stream(word.value);
              if (!std::getline(stream, to.options.peer_token) ||
                  to.options.peer_token.size() < 16 ||
                  to.options.peer_token.find_first_of(" \t\r") != std::string::npos)
                throw request_error(word.name +
                                    " wants a file with a secret of 16 characters or more, not '" +
                                    word.value + "'");
            }},
    Setting{
        "--drain",
        [](Said& to, const Word& word) { to.options.drain = need_seconds(word.name, word.value); }},
    Setting{"--drain-notice",
            [](Said& to, const Word& word) {
              to.options.drain_notice = need_seconds(word.name, word.value);
            }},
};

constexpr std::array worker_settings{
    Setting{"--isolate",
            [](Said& to, const Word& word) {
              if (word.value != "owner" && word.value != "session")
                throw request_error(word.name + " wants owner or session, not '" + word.value +
                                    "'");
              to.options.isolation.by =
                  word.value == "owner" ? Isolation::By::owner : Isolation::By::session;
            }},
    Setting{"--max-workers",
            [](Said& to, const Word& word) {
              to.options.isolation.worker_limit =
                  need_number<session::CellKey>(word.name, word.value, 1);
              to.of_workers = word.name;
            }},
    Setting{"--worker-memory",
            [](Said& to, const Word& word) {
              to.options.isolation.worker_memory_bytes = need_bytes(word.name, word.value);
              to.of_workers = word.name;
            }},
    Setting{"--worker-idle",
            [](Said& to, const Word& word) {
              to.options.isolation.idle = need_seconds(word.name, word.value);
              to.of_workers = word.name;
            }},
};

constexpr std::array telemetry_settings{
    Setting{"--audit-log",
            [](Said& to, const Word& word) {
              to.options.audit_log = telemetry::AuditLog::Target::parse(word.value);
              if (!to.options.audit_log)
                throw request_error(word.name + " wants a file, syslog or syslog:/SOCKET, not '" +
                                    word.value + "'");
            }},
    Setting{"--otlp-endpoint",
            [](Said& to, const Word& word) {
              to.options.collector = telemetry::Collector::parse(word.value);
              if (!to.options.collector) {
                throw request_error(word.name +
                                    " wants http://HOST:PORT of a collector that takes OTLP/HTTP "
                                    "without TLS, not '" +
                                    word.value + "'");
              }
            }},
    Setting{"--log-format",
            [](Said& to, const Word& word) {
              if (word.value != "text" && word.value != "json")
                throw request_error("--log-format wants text or json, not '" + word.value + "'");
              to.options.log_format =
                  word.value == "json" ? http::LogFormat::json : http::LogFormat::text;
            }},
};

constexpr std::array switches{
    Switch{"--no-console", [](Options& options) { options.use_console = false; }},
    Switch{"--no-http2", [](Options& options) { options.http.use_http2 = false; }},
    Switch{"--tls-self-signed", [](Options& options) { options.makes_certificate = true; }},
    Switch{"--strict-token-sessions",
           [](Options& options) { options.owner_rule = cluster::OwnerRule::all; }},
    Switch{"--take-keys", [](Options& options) { options.takes_keys = true; }},
    Switch{"--e2b-debug", [](Options& options) { options.e2b.listens_for_debug = true; }},
    Switch{"--e2b-internet", [](Options& options) { options.e2b.network.emplace_back("*"); }},
    Switch{"--e2b-secure-only",
           [](Options& options) { options.e2b.secrecy = e2b::DoorOptions::Secrecy::always; }},
};

}  // namespace

Setter find_setter(std::string_view name) {
  for (const std::span<const Setting> family : std::initializer_list<std::span<const Setting>>{
           client_settings, session_settings, mcp_settings, ssh_settings, e2b_settings,
           cell_settings, worker_settings, telemetry_settings}) {
    for (const Setting& setting : family) {
      if (setting.name == name) return setting.set;
    }
  }
  return nullptr;
}

bool turn_switch(Options& options, std::string_view name) {
  for (const Switch& one : switches) {
    if (one.name != name) continue;
    one.turn(options);
    return true;
  }
  return false;
}

}  // namespace cloche::serve
