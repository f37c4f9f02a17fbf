// SPDX-License-Identifier: Apache-2.0
// What a client sends over a connection of HTTP/1.1, to an application that answers in every way
// there is: at once and later, as a stream, as a tunnel, as a WebSocket that says what it hears, or by
// another process. http2_fuzz has the same for HTTP/2.
//
// The first byte is the size of the pieces in which the rest comes. "WS " at its beginning stands for
// a request that asks for a WebSocket, and what follows for its frames, each with a head of two bytes
// (see frames_of).
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/unique_fd.h"
#include "doors/http/answer_stream.h"
#include "doors/http/connection.h"
#include "doors/http/h2/client_testing.h"
#include "doors/http/plain_client_testing.h"
#include "doors/http/web_socket.h"

namespace {

using namespace cloche;
using namespace cloche::http;
using ExchangePtr = std::shared_ptr<Exchange>;

constexpr std::string_view upgrade =
    "GET /w HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

// Says what it hears, and closes where it is told to.
class Echo final : public WebSocketUser {
 public:
  explicit Echo(int& alive) : alive_(alive) { ++alive_; }
  ~Echo() override {
    CLOCHE_CHECK(closes_ == 1);
    --alive_;
  }
  void opened(std::shared_ptr<WebSocket> socket) override { socket_ = std::move(socket); }
  void received(WebSocket::Frame frame, std::string message) override {
    CLOCHE_CHECK(socket_ && closes_ == 0);
    if (message.starts_with("bye")) return socket_->close(4000, message);
    const auto kind = message.starts_with("n") ? WebSocket::Kind::notice : WebSocket::Kind::answer;
    socket_->send(frame, kind, std::move(message));
  }
  void closed() override {
    ++closes_;
    socket_.reset();
  }

 private:
  int& alive_;
  int closes_ = 0;
  std::shared_ptr<WebSocket> socket_;
};

struct Application {
  void answer(Request request, const ExchangePtr& exchange) {
    if (request.path.starts_with("/w")) {
      exchange->open_web_socket(std::move(request), "", std::make_shared<Echo>(users));
    } else if (request.path.starts_with("/s")) {
      streams.push_back(exchange->begin(text_response(200, {}), {}));
      streams.back()->write(std::string(request.target.size() * 100, 's'));
    } else if (request.path.starts_with("/t") || request.method == "CONNECT") {
      exchange->open_tunnel({}, [](int fd) { ::close(fd); });
    } else if (request.path.starts_with("/h")) {
      exchange->hand_over([](int fd) { ::close(fd); });
    } else if (request.path.starts_with("/r")) {
      relay(*exchange, request.body);
    } else if (request.path.starts_with("/k")) {
      kept.push_back(exchange);
    } else if (!request.path.starts_with("/n")) {
      exchange->send(text_response(200, request.body));
    }
  }

  // The body itself is what the other process answers.
  static void relay(Exchange& exchange, std::string_view answer) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    const UniqueFd theirs(ends[1]);
    (void)::send(theirs.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    exchange.relay_to(UniqueFd(ends[0]));
  }

  void go_on() {
    if (!kept.empty()) {
      kept.front()->send(text_response(203, std::string(2000, 'k')));
      kept.pop_front();
    }
    if (streams.empty()) return;
    streams.front()->write("more");
    streams.front()->end();
    streams.pop_front();
  }

  int users = 0;
  std::deque<ExchangePtr> kept;
  std::deque<std::shared_ptr<AnswerStream>> streams;
};

// A head of two bytes (opcode and flags, length), then the payload, for each frame.
std::string frames_of(std::string_view input) {
  std::string frames;
  while (input.size() >= 2) {
    const auto first = static_cast<std::uint8_t>(input[0]);
    const auto length = static_cast<std::uint8_t>(input[1]);
    input.remove_prefix(2);
    const std::size_t payload = std::min<std::size_t>(length & 0x7fU, input.size());
    frames += static_cast<char>(first);
    // The lengths of 16 and 64 bits are as they come.
    frames += static_cast<char>((length & 0x7fU) | 0x80U);
    frames.append(4, '\0');
    frames += input.substr(0, payload);
    input.remove_prefix(payload);
  }
  return frames;
}

void serve(const std::string& input, std::size_t piece) {
  static Loops loops(1);
  Loop& loop = loops[0];
  HostInMemory host;
  Application application;
  host.its_options.head_limit_bytes = 4000;
  host.its_options.head_timeout = std::chrono::milliseconds(100);
  host.on_admit = [](const Request&) { return Admission{.body_limit_bytes = 20'000}; };
  host.on_handle = [&](Request request, const ExchangePtr& exchange) {
    application.answer(std::move(request), exchange);
  };
  ConnectedPair pair = connected_pair(loop);
  UniqueFd& client = pair.client;
  std::shared_ptr<Connection> connection =
      make_plain_connection(host, loop, std::move(pair.server));
  const auto run = [&] {
    loop.context().restart();
    while (loop.context().poll() > 0) {
      std::array<char, 16384> answer;
      while (::recv(client.get(), answer.data(), answer.size(), MSG_DONTWAIT) > 0) continue;
    }
  };
  connection->start();
  for (std::size_t at = 0; at < input.size(); at += piece) {
    const std::string_view some = std::string_view(input).substr(at, piece);
    (void)::send(client.get(), some.data(), some.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    run();
    if (at / piece % 4 == 3) application.go_on();
  }
  (void)::shutdown(client.get(), SHUT_WR);
  run();
  application.go_on();
  run();
  client.reset();
  run();
  application.kept.clear();
  application.streams.clear();
  connection->end_now();
  connection.reset();
  run();
  // A WebSocket that neither its read nor its close ends does so in time.
  if (application.users != 0) loop.context().run_for(2 * host.its_options.head_timeout);
  run();
  CLOCHE_CHECK(application.users == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::string_view mark = "WS ";
  if (input.starts_with(mark))
    input = std::string(upgrade) + frames_of(std::string_view(input).substr(mark.size()));
  serve(input, std::size_t{data[0]} * 4 + 1);
  return 0;
}
