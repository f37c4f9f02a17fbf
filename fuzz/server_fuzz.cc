// SPDX-License-Identifier: Apache-2.0
// What clients ask of a whole server of sessions, with all its doors and real sandboxes behind them:
// it answers, says of nothing that it failed itself (500), and ends, whatever still runs.
//
// The input is requests as lines, with a line "---" between two: a first line ("POST /sessions"), fields,
// an empty line, a body. The host, the length and the envelope of a Connect stream are put there. A
// first line "WS /rpc" stands for a WebSocket on which each line of the body is a message; "!" before
// a first line, for a client that goes away without reading. All others stay until the end, at most
// a moment of which is waited for an answer: a request that waits is one of a client at the same time.
// $NAME$ is the last text that an answer had for that name, as a member or as a field.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/temp_dir_testing.h"
#include "base/unique_fd.h"
#include "cloche/engine.h"
#include "doors/console/console_door.h"
#include "doors/e2b/boxes.h"
#include "doors/e2b/connect_wire.h"
#include "doors/e2b/e2b_door.h"
#include "doors/grading/grading_door.h"
#include "doors/http/login_cookies.h"
#include "doors/http/message.h"
#include "doors/http/plain_client_testing.h"
#include "doors/mcp/http_door.h"
#include "doors/mcp/hub.h"
#include "doors/remote/remote_door.h"
#include "doors/rest/rest_door.h"
#include "doors/serve/application.h"
#include "doors/ssh/ssh_door.h"
#include "doors/steps/step_door.h"
#include "pieces.h"
#include "session/session_manager.h"
#include "session/worker_pool.h"
#include "unknown_threads.h"

namespace {

using namespace cloche;

constexpr std::size_t most_requests = 16;
constexpr std::chrono::milliseconds patience{50};  // for what is not there yet
constexpr std::chrono::milliseconds at_once{1};    // between what belongs together

SandboxOptions small_sandbox() {
  SandboxOptions options;
  options.memory_limit_bytes = 128 << 20;
  options.file_limit_bytes = 1 << 20;
  options.file_limit_inodes = 500;
  options.process_limit = 8;
  return options;
}

session::ManagerOptions sessions_options() {
  session::ManagerOptions options;
  options.session_limit = 8;
  options.sandbox = small_sandbox();
  return options;
}

mcp::HubOptions hub_options() {
  mcp::HubOptions options;
  options.sandbox = small_sandbox();
  options.sandbox_limit = 8;
  return options;
}

http::ServerOptions server_options() {
  http::ServerOptions options;
  options.listens = false;
  options.threads = 2;
  return options;
}

ssh::SshOptions ssh_options() {
  static const TempDir folder;
  return {.host_key = folder.path() / "key", .password = {}};
}

// All parts of a server but its process, as serve::RunningServer has them; made anew for each input.
class WholeServer {
 public:
  explicit WholeServer(Engine& engine)
      : sessions_(engine, watched()),
        boxes_(engine, sessions_, *workers_, small_sandbox(), {}, {}),
        hub_(
            hub_options(), [&engine]() -> Engine& { return engine; }, *workers_),
        remote_({engine, sessions_, *workers_, ready, [] { return std::uint64_t{0}; }},
                {tokens_, logins_, guard_}),
        grading_({engine, *workers_, tokens_, metrics_}, small_sandbox()) {}

  ~WholeServer() {
    sessions_.stop_creating();
    server_->close_after_answers();
    ssh_.end_idle();
    mcp_.end_listening();
    server_->drain(std::chrono::milliseconds(0));
    mcp_.stop();
    ssh_.stop();
    remote_.stop();
    grading_.stop();
    sessions_.end();
    boxes_.wait_for_end();
    server_->drain(std::chrono::milliseconds(0));
    server_.reset();
    workers_.reset();
  }
  WholeServer(const WholeServer&) = delete;
  WholeServer& operator=(const WholeServer&) = delete;

  void adopt(UniqueFd connection) { server_->adopt(std::move(connection)); }

 private:
  session::ManagerOptions watched() {
    session::ManagerOptions options = sessions_options();
    options.audit = [this](session::Event event, const session::Session& session) {
      using session::Event;
      if (event == Event::closed || event == Event::expired || event == Event::ended)
        boxes_.forget(session.facts().id);
    };
    options.came_due = [this](const auto& session) { return boxes_.came_due(session); };
    options.stopping = [this](const session::Session& session) {
      boxes_.stopping(session);
      ssh_.drop(session.facts().id);
    };
    return options;
  }
  static std::string ready() { return {}; }

  http::Metrics metrics_;
  http::Log log_{http::LogFormat::json, -1};
  http::TokenStore tokens_{{}, ""};
  http::LoginCookies logins_{tokens_};
  const http::OriginGuard guard_{"127.0.0.1", {}, {}};
  session::SessionManager sessions_;
  ssh::SshDoor ssh_{{sessions_, log_, metrics_, tokens_}, ssh_options()};
  // What they do uses the doors: it ends before these go, and what asks them before it.
  std::unique_ptr<session::WorkerPool> workers_ = std::make_unique<session::WorkerPool>(64);
  e2b::Boxes boxes_;
  steps::StepDoor steps_{{sessions_, *workers_, log_, metrics_}, 1};
  rest::RestDoor rest_{{sessions_, *workers_, log_, metrics_, tokens_, ssh_, ready}, {}};
  mcp::Hub hub_;
  mcp::HttpDoor mcp_{{hub_, tokens_, guard_}};
  remote::RemoteDoor remote_;
  e2b::E2bDoor e2b_{{boxes_, *workers_, tokens_}, {}};
  grading::GradingDoor grading_;
  console::ConsoleDoor console_{{tokens_, logins_, guard_}};
  serve::Application application_{
      {steps_, rest_, mcp_, remote_, &console_, e2b_, grading_, metrics_, log_, guard_, tokens_},
      serve::Api::sessions};
  std::optional<http::Server> server_{std::in_place, server_options(), application_};
};

// What answers have said.
class Names {
 public:
  void learn(std::string_view answer) {
    for (std::string_view head = answer.substr(0, answer.find("\r\n\r\n")); !head.empty();) {
      const std::string_view line = fuzz::next_piece(head, "\r\n");
      const std::size_t colon = line.find(": ");
      if (colon != line.npos) keep(line.substr(0, colon), line.substr(colon + 2));
    }
    // Members of JSON, wherever they are.
    for (std::size_t at = 0; (at = answer.find("\":\"", at)) != answer.npos; at += 3) {
      const std::size_t begin = at == 0 ? answer.npos : answer.rfind('"', at - 1);
      const std::size_t end = answer.find('"', at + 3);
      if (begin == answer.npos || end == answer.npos) continue;
      keep(answer.substr(begin + 1, at - begin - 1), answer.substr(at + 3, end - at - 3));
    }
  }

  std::string put_in(std::string_view text) const {
    std::string whole;
    for (;;) {
      const std::size_t begin = std::min(text.find('$'), text.size());
      whole += text.substr(0, begin);
      if (begin == text.size()) return whole;
      const std::size_t end = text.find('$', begin + 1);
      const auto known = end == text.npos
                             ? texts_.end()
                             : texts_.find(std::string(text.substr(begin + 1, end - begin - 1)));
      whole += known == texts_.end() ? "$" : known->second;
      text.remove_prefix(known == texts_.end() ? begin + 1 : end + 1);
    }
  }

 private:
  void keep(std::string_view name, std::string_view text) {
    constexpr std::size_t most = 1 << 14;
    if (name.size() + text.size() < most) texts_[std::string(name)] = text;
  }

  std::map<std::string, std::string> texts_;
};

// The number of a terminal begins with a zero.
std::string message_of(std::string_view text) {
  constexpr int whole_text = 0x81;
  constexpr int whole_binary = 0x82;
  return http::masked_frame(text.starts_with('\0') ? whole_binary : whole_text, text);
}

// A request from its lines, and what is left of them: the messages of a WebSocket.
std::string request_of(std::string_view& text) {
  const std::string_view first = fuzz::next_piece(text);
  std::string fields;
  bool is_stream = false;
  for (std::string_view line; !text.empty() && !(line = fuzz::next_piece(text)).empty();) {
    is_stream = is_stream || line.find("application/connect") != line.npos;
    fields.append(line).append("\r\n");
  }
  constexpr std::string_view web_socket = "WS ";
  if (first.starts_with(web_socket)) {
    return "GET " + std::string(first.substr(web_socket.size())) +
           " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" +
           fields + "\r\n";
  }
  const std::string body = is_stream ? e2b::frame_of(text) : std::string(text);
  text = {};
  return std::string(first) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// By the protocols of E2B's agent and interpreter 500 also says what a client did wrong.
bool may_fail(std::string_view request) {
  std::string_view head = request.substr(0, request.find("\n\n"));
  while (!head.empty()) {
    const std::string_view line = fuzz::next_piece(head);
    if (http::same_text(line.substr(0, line.find(':')), "E2b-Sandbox-Port")) return true;
  }
  return false;
}

class Client {
 public:
  explicit Client(WholeServer& server) {
    std::array<int, 2> ends{};
    CLOCHE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    socket_.reset(ends[0]);
    server.adopt(UniqueFd(ends[1]));
  }

  void say(const std::string& bytes) const {
    (void)::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  // What comes until the end, or until nothing more has come for so long.
  std::string hear(std::chrono::milliseconds between) const {
    constexpr std::size_t most = 1 << 20;
    std::string answer;
    pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    while (answer.size() < most) {
      const std::chrono::milliseconds longest = answer.empty() ? patience : between;
      if (::poll(&readable, 1, static_cast<int>(longest.count())) != 1) break;
      std::array<char, 16384> piece;
      const ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (got <= 0) break;
      answer.append(piece.data(), static_cast<std::size_t>(got));
    }
    return answer;
  }

 private:
  UniqueFd socket_;
};

void ask(WholeServer& server, std::string_view input, Names& names, std::vector<Client>& clients) {
  const bool goes_away = input.starts_with("!");
  if (goes_away) input.remove_prefix(1);
  const std::string request = names.put_in(input);
  std::string_view text = request;
  Client client(server);
  client.say(request_of(text));
  if (goes_away) return;
  const std::string answer = client.hear(text.empty() ? patience : at_once);
  CLOCHE_CHECK(may_fail(request) || !answer.starts_with("HTTP/1.1 500 "));
  names.learn(answer);
  while (!text.empty()) {
    client.say(message_of(names.put_in(fuzz::next_piece(text))));
    names.learn(client.hear(at_once));
  }
  clients.push_back(std::move(client));
}

// Its programs are compiled already: a server that ends waits for what is being compiled.
struct Prepared {
  Engine engine{{}};
  Prepared() { engine.prepare(); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Prepared prepared;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::vector<Client> clients;
  Names names;
  WholeServer server(prepared.engine);
  for (std::size_t count = 0; count < most_requests && !input.empty(); ++count)
    ask(server, fuzz::next_piece(input, "\n---\n"), names, clients);
  return 0;
}
