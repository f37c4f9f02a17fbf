// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/options.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/resident_memory.h"
#include "doors/serve/settings.h"
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

  --max-sessions N          (1000; 0: none, and a cell only passes on)
  --max-token-sessions N    of one token, in all cells together (three quarters of --max-sessions where there are
                            several tokens, or a --tokens-file, and no --peers; else, and with 0, no limit)
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
  --e2b-template NAME=IMAGE
                            a template of E2B's sandboxes: NAME is a sandbox of the linux engine made of that IMAGE
                            (cloche image list); may be repeated
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

// What depends on the whole line.
// Where there are several tokens one leaves places to others. Cells that are peers have so many of one
// together, of which the option alone can say how many there are to be.
void limit_each_token(Options& options) {
  const bool has_several = options.tokens.size() > 1 || !options.tokens_file.empty();
  if (!has_several || options.peers) return;
  const std::size_t all = options.sessions.session_limit;
  options.sessions.session_limit_per_owner = all - all / 4;
}

void settle(Said& said) {
  Options& options = said.options;
  if (!said.has_token_limit) limit_each_token(options);
  options.has_mcp_options = !options.mcp_packages.empty() || !options.mcp_network.empty();
  if (options.mcp_packages.empty() && options.sessions.sandbox.image.empty())
    options.mcp_packages.assign(mcp::usual_packages.begin(), mcp::usual_packages.end());
  const std::chrono::seconds usual(options.api == Api::steps ? 0 : 1800);
  options.sessions.idle_timeout = said.idle_timeout.value_or(usual);
  if (said.has_save && options.sessions.state_folder.empty())
    throw request_error("--save is of no use without --state-dir");
  if (!said.of_workers.empty() && options.isolation.by == Isolation::By::nothing)
    throw request_error(said.of_workers + " is of no use without --isolate");
  options.e2b.isolation = options.sessions.sandbox.isolation;
  // Then it is of the templates alone.
  if (options.sessions.sandbox.engine == EngineKind::wasm && !options.e2b.images.empty())
    options.sessions.sandbox.isolation = cloche::Isolation::full;
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
  Said said;
  Options& options = said.options;
  options.http.received_limit_bytes =
      std::max(options.http.received_limit_bytes, machine_memory_bytes() / 4);
  options.api = api;
  options.http.port = 8000;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string name = words[i];
    std::optional<std::string> value;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    if (!value && turn_switch(options, name)) continue;
    const Setter set = find_setter(name);
    const sandbox::SandboxOption* of_session = session_option(name);
    const sandbox::SandboxOption* granted = granted_option(name);
    if (set == nullptr && of_session == nullptr && granted == nullptr)
      throw request_error("there is no option '" + name + "'");
    if (!value) {
      if (++i == words.size()) throw request_error(name + " wants a value");
      value = words[i];
    }
    if (granted != nullptr) {
      options.sessions.grants.push_back(sandbox::grant_of(*granted, name, *value));
    } else if (of_session != nullptr) {
      sandbox::set_option(options.sessions.sandbox, *of_session, name, *value);
      options.has_session_options = true;
    } else {
      set(said, {name, *value});
    }
  }
  settle(said);
  check(options);
  return std::move(options);
}

}  // namespace cloche::serve
