// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/options.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/resident_memory.h"
#include "base/units.h"
#include "doors/http/origin_guard.h"
#include "sandbox/options/sandbox_option.h"

namespace cloche::serve {
namespace {

constexpr const char* first_page = R"page(cloche serve [OPTIONS]

Sandboxes for agents over HTTP: one session, one sandbox. Sessions by REST, a tunnel and SSH are at /v1 and, by --api,
at the root; the steps of `sbs` are at the root with --api steps; the Model Context Protocol is at /mcp. Programs for
E2B find what they know, with E2B_API_URL and E2B_SANDBOX_URL set to this server. It runs until it gets SIGTERM or Ctrl-C.

  --api sessions|steps      what is at the root (sessions)
  --host ADDRESS            where it listens (127.0.0.1); other than this machine only with tokens, or with --api steps
  --port N                  (8000)
  --allow-host NAME         a further name by which clients call this server; may be repeated; * is any. Where no token is
                            asked for, requests to other names than localhost, its address and these are refused
  --allow-origin ORIGIN     whose pages may use it from a browser, such as https://app.example; may be repeated
  --no-console              leaves out /console, the page for people
  --tls-cert FILE --tls-key FILE
                            HTTPS, with these PEM files: HTTP/2 with clients that know it, and HTTP/1.1
  --tls-self-signed         HTTPS with a certificate that is made for this run. Its SHA-256 is in the line certificate_made of
                            the log; clients must be told, those of Python by https://HOST:PORT#sha256=HEX
  --no-http2                HTTP/1.1 alone

  --token TOKEN             who may use /v1; may be repeated. Without any, everyone on this machine may
  --tokens-file FILE        the same from a file that holds no token: one a line, a NAME and its SHA-256 in hex
                            (printf %s "$TOKEN" | sha256sum); read again when it changes, and at SIGHUP
  --max-connections N       (4096) that a client holds; where all are taken the ones that are silent for the longest time go
  --unsent-limit BYTES      of answers that clients have not read, in memory (512M); half of it for one token
  --received-limit BYTES    of requests that come in, in memory (a quarter of the machine's, 1G at least); half of it
                            for one token
  --rate-limit N            requests a minute for each token (no limit)

  --max-sessions N          (1000)
  --max-token-sessions N    of one token (no limit), in all cells together
  --strict-token-sessions   and no session is made while a cell does not say how many it has of that token's; otherwise
                            those of a cell that has been gone for five seconds do not count
  --idle-timeout SECONDS    a session that is not used that long is deleted (1800; 0: never; with --api steps: never)
  --memory-limit BYTES      no new session while the server has more than that in memory (no limit)
  --state-dir FOLDER        sessions survive the server there, also when it is killed: files, packages and environment of
                            what has been answered. Without it they end with the server
  --save always|pause|SECONDS
                            when: before each answer (always); when a session is made or paused, and at the end; every
                            so many seconds. What is done between is lost where the server is killed

  --mcp-packages A,B        Python packages of sandboxes by /mcp, besides (numpy,pandas,matplotlib,scikit-learn)
  --mcp-network RULE        what of the network they may reach from the start; may be repeated (none)
  --mcp-allow RULE          what an agent may open without the user being asked; may be repeated (none)
  --mcp-tools all|minimal|anthropic
                            see cloche mcp --help (all)

  --ssh-port N              SSH for people too: ssh -p N sandbox+SESSION@HOST
  --ssh-host-key FILE       made when it is not there (~/.local/share/cloche/ssh_host_key)
  --ssh-password PASSWORD   opens every session, besides keys and tokens

  --drain SECONDS           at SIGTERM what runs has that long to end (3); a second SIGTERM ends it at once
  --drain-notice SECONDS    and before that: /ready says no and no session is made, but requests are answered (0)
  --cell-key N              1 to 65535: this server's key among several, in the id of each session; its state is in the
                            folder N of --state-dir
  --domain NAME             by which programs for E2B reach the ports of sandboxes, each as PORT-ID.NAME: told to them
  --e2b-secure-only         refuses to make sandboxes for E2B's clients that ask for no tokens (secure: false)
  --e2b-debug               for E2B's clients with E2B_DEBUG=true: one sandbox without a token, which all programs of this
                            machine reach at its ports 49983 and 49999
  --e2b-template NAME=IMAGE a template of E2B's sandboxes: NAME is a sandbox of the linux engine made of that IMAGE (cloche image
                            list); may be repeated
  --e2b-net RULE            what of the network E2B's sandboxes have that say nothing of it, besides --session-net; "*" is
                            the internet; may be repeated (none). They may open what they name, unless --allow-session-net
                            says what: then that, and what they have
  --e2b-internet            the same as --e2b-net '*'
  --e2b-build-net RULE      what builds of templates may reach, besides what all sandboxes may; may be repeated (none)
  --peers PEERS             the other cells: HOST:PORT,..., or dns:NAME:PORT for all addresses of a name, or file:FILE with a
                            HOST:PORT a line. Then any of them answers for all
  --peer-ca FILE|system     cells speak TLS to each other, for which each has --tls-cert: FILE has the certificates (PEM) of
                            who vouches for theirs, each for its HOST or NAME; system: who this machine trusts
  --peer-token-file FILE    a secret in a line that they know each other by
  --take-keys               it may be given keys of other cells, with their sessions (cloche cells move): --state-dir is then
                            storage that all cells share

  --isolate owner|session   each token's sandboxes are in a process of their own, in a jail of its own; or each session
  --max-workers N           how many of them there are at a time (64)
  --worker-memory BYTES     of one: with more it makes no session, with a quarter more it is ended (no limit)
  --worker-idle SECONDS     one that has no session and no request for that long ends (60)

  --log-format text|json    lines on standard error (text)
  --audit-log FILE|syslog   who did what, when, and what came of it, a line of JSON each: appended to FILE, which is opened
                            anew at SIGHUP, or sent to /dev/log (syslog:SOCKET: to that one)
  --otlp-endpoint URL       of a collector of traces, http://HOST[:PORT][/PREFIX]: gets a span for each request and command
                            by OTLP/HTTP in JSON, at PREFIX/v1/traces

Who asks for a session by REST or /rpc may ask for less than the options below give, and for more where the
command line has --allow-session-OPTION VALUE, which may be repeated: as much of an amount at most (memory, cpus,
processes, open-files, fs-limit, fs-count, net-connections, net-total, net-bytes), or that as well (net, mount,
wheels, image, wasm-dir, engine).

Each session is given a sandbox with:

)page";

constexpr const char* last_page = R"page(  --image FILE              the same as --session-image
  --session-files BYTES     the same as --session-fs-limit

BYTES may end in K, M, G or T; SECONDS and MS in s, m, h or d: 512M, 30m. GET /metrics has metrics
for Prometheus; /openapi.json describes the API, and /docs shows it; with --api steps /skill.md is
for an agent.

  cloche serve
  cloche serve --host 0.0.0.0 --port 8443 --tls-cert cert.pem --tls-key key.pem --tokens-file tokens --ssh-port 2222
  curl -s -X POST localhost:8000/v1/sessions
)page";

constexpr std::string_view session_prefix = "--session-";
constexpr std::string_view grant_prefix = "--allow-session-";

// What sessions are given, by the flag of `cloche run`; null for a flag of the server itself.
const sandbox::SandboxOption* session_option(std::string_view flag) {
  if (flag == "--image") return sandbox::find_option("image");
  if (flag == "--session-files") return sandbox::find_option("fs-limit");
  if (!flag.starts_with(session_prefix)) return nullptr;
  return sandbox::find_option(flag.substr(session_prefix.size()));
}

// What may be asked for beside that; null for a flag of another kind.
const sandbox::SandboxOption* granted_option(std::string_view flag) {
  if (!flag.starts_with(grant_prefix)) return nullptr;
  return sandbox::find_option(flag.substr(grant_prefix.size()));
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

template <typename Number>
Number need_number(const std::string& name, const std::string& text) {
  const auto value = number_of<Number>(text);
  if (!value) {
    const std::string range =
        sizeof(Number) > sizeof(std::uint16_t)
            ? std::string()
            : " from 0 to " + std::to_string(std::numeric_limits<Number>::max());
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

void check_isolation(const Options& options) {
  if (!options.e2b.images.empty() || options.e2b.listens_for_debug) {
    throw request_error(
        "--isolate does not speak to programs for E2B: leave --e2b-template and --e2b-debug out");
  }
  if (options.sessions.cell != 0)
    throw request_error("--isolate gives its workers the keys of cells: it has none of its own");
  if (options.use_ssh_port) {
    throw request_error(
        "with --isolate there is no --ssh-port: SSH reaches a session by the tunnel, CONNECT "
        "/v1/sessions/ID");
  }
  if (!options.tokens.empty()) {
    throw request_error(
        "--isolate wants --tokens-file: what is said by --token every process of this machine can "
        "read, a worker too");
  }
}

void check(const Options& options) {
  if (options.http.tls_certificate.empty() != options.http.tls_key.empty())
    throw request_error("--tls-cert and --tls-key belong together");
  if (options.peers.has_value() != !options.peer_token.empty())
    throw request_error("--peers and --peer-token-file belong together");
  if (options.peers && options.sessions.cell == 0)
    throw request_error("--peers is of no use without --cell-key");
  if (options.owner_rule == cluster::OwnerRule::all &&
      (!options.peers || options.sessions.session_limit_per_owner == 0)) {
    throw request_error(
        "--strict-token-sessions is of no use without --peers and --max-token-sessions");
  }
  if (options.takes_keys && (!options.peers || options.sessions.state_folder.empty()))
    throw request_error("--take-keys is of no use without --peers and --state-dir");
  if (options.makes_certificate && !options.http.tls_key.empty())
    throw request_error(
        "--tls-self-signed makes a certificate: leave --tls-cert and --tls-key out");
  if (!options.peer_authorities.empty() && !options.peers)
    throw request_error("--peer-ca is of no use without --peers");
  if (options.peers && options.makes_certificate)
    throw request_error(
        "cells with --peers check each other's certificates: give --tls-cert, not "
        "--tls-self-signed");
  if (options.peers && options.http.tls_key.empty() != options.peer_authorities.empty())
    throw request_error("with --peers, --tls-cert and --peer-ca belong together");
  if (options.isolation.by != Isolation::By::nothing) check_isolation(options);
  if (options.api == Api::sessions && options.tokens.empty() && options.tokens_file.empty() &&
      !is_loopback(options.http.host)) {
    throw request_error(
        "without a token only this machine may connect: say --token or --tokens-file "
        "to listen on " +
        options.http.host);
  }
}

}  // namespace

std::string help_page() { return first_page + sandbox::option_lines(session_prefix) + last_page; }

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Options parse(const std::vector<std::string>& words, Api api) {
  Options options;
  options.http.received_limit_bytes =
      std::max(options.http.received_limit_bytes, machine_memory_bytes() / 4);
  options.api = api;
  options.http.port = 8000;
  std::optional<std::chrono::seconds> idle_timeout;
  bool save_given = false;
  std::string worker_option;
  using Setter = std::function<void(const std::string& name, const std::string& value)>;
  const std::map<std::string, Setter> setters{
      {"--api",
       [&](const auto&, const auto& value) {
         if (value != "sessions" && value != "steps")
           throw request_error("--api wants sessions or steps, not '" + value + "'");
         options.api = value == "steps" ? Api::steps : Api::sessions;
       }},
      {"--host", [&](const auto&, const auto& value) { options.http.host = value; }},
      {"--port",
       [&](const auto& name, const auto& value) {
         options.http.port = need_number<std::uint16_t>(name, value);
       }},
      {"--allow-host",
       [&](const auto& name, const auto& value) {
         if (value.empty() || value.find_first_of("/@ ") != value.npos)
           throw request_error(name + " wants a name such as box.example, or *; not '" + value +
                               "'");
         options.allowed_hosts.push_back(value);
       }},
      {"--allow-origin",
       [&](const auto& name, const auto& value) {
         if (!http::OriginGuard::is_origin(value)) {
           throw request_error(name + " wants an origin such as https://app.example, not '" +
                               value + "'");
         }
         options.allowed_origins.push_back(value);
       }},
      {"--tls-cert", [&](const auto&, const auto& value) { options.http.tls_certificate = value; }},
      {"--tls-key", [&](const auto&, const auto& value) { options.http.tls_key = value; }},
      {"--token",
       [&](const auto& name, const auto& value) {
         if (value.empty()) throw request_error(name + " wants a token that is not empty");
         options.tokens.push_back(value);
       }},
      {"--tokens-file", [&](const auto&, const auto& value) { options.tokens_file = value; }},
      {"--max-connections",
       [&](const auto& name, const auto& value) {
         options.http.connection_limit = need_number<std::size_t>(name, value);
         if (options.http.connection_limit < 4) throw request_error(name + " wants 4 at least");
       }},
      {"--unsent-limit",
       [&](const auto& name, const auto& value) {
         options.http.unsent_limit_bytes = need_bytes(name, value);
       }},
      {"--received-limit",
       [&](const auto& name, const auto& value) {
         options.http.received_limit_bytes = need_bytes(name, value);
       }},
      {"--rate-limit",
       [&](const auto& name, const auto& value) {
         options.requests_per_minute = need_number<std::uint64_t>(name, value);
       }},
      {"--max-sessions",
       [&](const auto& name, const auto& value) {
         options.sessions.session_limit = need_number<std::size_t>(name, value);
       }},
      {"--max-token-sessions",
       [&](const auto& name, const auto& value) {
         options.sessions.session_limit_per_owner = need_number<std::size_t>(name, value);
       }},
      {"--cell-key",
       [&](const auto& name, const auto& value) {
         options.sessions.cell = need_number<session::CellKey>(name, value);
         if (options.sessions.cell == 0) throw request_error(name + " wants 1 to 65535");
       }},
      {"--peers",
       [&](const auto& name, const auto& value) {
         options.peers = cluster::PeerSource::parse(value);
         if (!options.peers) {
           throw request_error(name + " wants HOST:PORT,..., dns:NAME:PORT or file:FILE, not '" +
                               value + "'");
         }
       }},
      {"--peer-ca", [&](const auto&, const auto& value) { options.peer_authorities = value; }},
      {"--peer-token-file",
       [&](const auto& name, const auto& value) {
         std::ifstream stream(value);
         if (!std::getline(stream, options.peer_token) || options.peer_token.size() < 16 ||
             options.peer_token.find_first_of(" \t\r") != std::string::npos)
           throw request_error(
               name + " wants a file with a secret of 16 characters or more, not '" + value + "'");
       }},
      {"--isolate",
       [&](const auto& name, const auto& value) {
         if (value != "owner" && value != "session")
           throw request_error(name + " wants owner or session, not '" + value + "'");
         options.isolation.by = value == "owner" ? Isolation::By::owner : Isolation::By::session;
       }},
      {"--max-workers",
       [&](const auto& name, const auto& value) {
         options.isolation.worker_limit = need_number<session::CellKey>(name, value);
         if (options.isolation.worker_limit == 0) throw request_error(name + " wants 1 to 65535");
         worker_option = name;
       }},
      {"--worker-memory",
       [&](const auto& name, const auto& value) {
         options.isolation.worker_memory_bytes = need_bytes(name, value);
         worker_option = name;
       }},
      {"--worker-idle",
       [&](const auto& name, const auto& value) {
         options.isolation.idle = need_seconds(name, value);
         worker_option = name;
       }},
      {"--drain",
       [&](const auto& name, const auto& value) { options.drain = need_seconds(name, value); }},
      {"--drain-notice",
       [&](const auto& name, const auto& value) {
         options.drain_notice = need_seconds(name, value);
       }},
      {"--idle-timeout",
       [&](const auto& name, const auto& value) { idle_timeout = need_seconds(name, value); }},
      {"--memory-limit",
       [&](const auto& name, const auto& value) {
         options.sessions.memory_limit_bytes = need_bytes(name, value);
       }},
      {"--state-dir",
       [&](const auto& name, const auto& value) {
         if (value.empty()) throw request_error(name + " wants a folder");
         options.sessions.state_folder = value;
       }},
      {"--save",
       [&](const auto& name, const auto& value) {
         using session::SavePolicy;
         const auto time = parse_duration(value, std::chrono::seconds(1));
         if (value != "always" && value != "pause" && (!time || *time < std::chrono::seconds(1)))
           throw request_error(name + " wants always, pause or seconds, not '" + value + "'");
         options.sessions.save_policy = value == "always"  ? SavePolicy::always
                                        : value == "pause" ? SavePolicy::pause
                                                           : SavePolicy::interval;
         if (time)
           options.sessions.save_interval = std::chrono::duration_cast<std::chrono::seconds>(*time);
         save_given = true;
       }},
      {"--mcp-packages",
       [&](const auto&, const auto& value) {
         for (std::size_t at = 0; at < value.size();) {
           const std::size_t end = std::min(value.find(',', at), value.size());
           if (end > at) options.mcp_packages.push_back(value.substr(at, end - at));
           at = end + 1;
         }
       }},
      {"--mcp-network",
       [&](const auto&, const auto& value) { options.mcp_network.push_back(value); }},
      {"--mcp-allow", [&](const auto&, const auto& value) { options.mcp_allow.push_back(value); }},
      {"--mcp-tools",
       [&](const auto& name, const auto& value) {
         const auto set = mcp::tool_set_of(value);
         if (!set)
           throw request_error(name + " wants all, minimal or anthropic, not '" + value + "'");
         options.mcp_tools = *set;
       }},
      {"--ssh-port",
       [&](const auto& name, const auto& value) {
         options.ssh_port = need_number<std::uint16_t>(name, value);
         options.use_ssh_port = true;
       }},
      {"--domain",
       [&](const auto& name, const auto& value) {
         if (value.empty() || value.find_first_of("/@ ") != value.npos)
           throw request_error(name + " wants a name such as box.example; not '" + value + "'");
         options.e2b.domain = value;
       }},
      {"--e2b-template",
       [&](const auto& name, const auto& value) { read_template(options.e2b, name, value); }},
      {"--e2b-net",
       [&](const auto& name, const auto& value) {
         const auto rules =
             sandbox::grant_of(*sandbox::find_option("net"), name, value).value.network.allow;
         options.e2b.network.insert(options.e2b.network.end(), rules.begin(), rules.end());
       }},
      {"--e2b-build-net",
       [&](const auto&, const auto& value) { options.e2b.build_network.push_back(value); }},
      {"--ssh-host-key", [&](const auto&, const auto& value) { options.ssh_host_key = value; }},
      {"--ssh-password", [&](const auto&, const auto& value) { options.ssh_password = value; }},
      {"--audit-log",
       [&](const auto& name, const auto& value) {
         options.audit_log = telemetry::AuditLog::Target::parse(value);
         if (!options.audit_log)
           throw request_error(name + " wants a file, syslog or syslog:/SOCKET, not '" + value +
                               "'");
       }},
      {"--otlp-endpoint",
       [&](const auto& name, const auto& value) {
         options.collector = telemetry::Collector::parse(value);
         if (!options.collector) {
           throw request_error(name +
                               " wants http://HOST:PORT of a collector that takes OTLP/HTTP "
                               "without TLS, not '" +
                               value + "'");
         }
       }},
      {"--log-format",
       [&](const auto&, const auto& value) {
         if (value != "text" && value != "json")
           throw request_error("--log-format wants text or json, not '" + value + "'");
         options.log_format = value == "json" ? http::LogFormat::json : http::LogFormat::text;
       }},
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string name = words[i];
    std::optional<std::string> value;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    if (name == "--no-console" && !value) {
      options.use_console = false;
      continue;
    }
    if (name == "--no-http2" && !value) {
      options.http.use_http2 = false;
      continue;
    }
    if (name == "--tls-self-signed" && !value) {
      options.makes_certificate = true;
      continue;
    }
    if (name == "--strict-token-sessions" && !value) {
      options.owner_rule = cluster::OwnerRule::all;
      continue;
    }
    if (name == "--take-keys" && !value) {
      options.takes_keys = true;
      continue;
    }
    if (name == "--e2b-debug" && !value) {
      options.e2b.listens_for_debug = true;
      continue;
    }
    if (name == "--e2b-internet" && !value) {
      options.e2b.network.emplace_back("*");
      continue;
    }
    if (name == "--e2b-secure-only" && !value) {
      options.e2b.secrecy = e2b::DoorOptions::Secrecy::always;
      continue;
    }
    const auto setter = setters.find(name);
    const sandbox::SandboxOption* of_session = session_option(name);
    const sandbox::SandboxOption* granted = granted_option(name);
    if (setter == setters.end() && of_session == nullptr && granted == nullptr)
      throw request_error("there is no option '" + name + "'");
    if (!value) {
      if (++i == words.size()) throw request_error(name + " wants a value");
      value = words[i];
    }
    if (granted != nullptr) {
      options.sessions.grants.push_back(sandbox::grant_of(*granted, name, *value));
    } else if (of_session == nullptr) {
      setter->second(name, *value);
    } else {
      sandbox::set_option(options.sessions.sandbox, *of_session, name, *value);
      options.has_session_options = true;
    }
  }
  if (options.mcp_packages.empty() && options.sessions.sandbox.image.empty())
    options.mcp_packages.assign(mcp::usual_packages.begin(), mcp::usual_packages.end());
  const std::chrono::seconds usual(options.api == Api::steps ? 0 : 1800);
  options.sessions.idle_timeout = idle_timeout.value_or(usual);
  if (save_given && options.sessions.state_folder.empty())
    throw request_error("--save is of no use without --state-dir");
  if (!worker_option.empty() && options.isolation.by == Isolation::By::nothing)
    throw request_error(worker_option + " is of no use without --isolate");
  options.e2b.isolation = options.sessions.sandbox.isolation;
  // Then it is of the templates alone.
  if (options.sessions.sandbox.engine == EngineKind::wasm && !options.e2b.images.empty())
    options.sessions.sandbox.isolation = cloche::Isolation::full;
  check(options);
  return options;
}

}  // namespace cloche::serve
