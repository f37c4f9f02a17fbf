// SPDX-License-Identifier: Apache-2.0
// A WebSocket that the server closes ends, whatever its client sends meanwhile.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>

#include "base/check.h"
#include "base/unique_fd.h"
#include "doors/http/connection.h"
#include "doors/http/h2/client_testing.h"
#include "doors/http/plain_client_testing.h"
#include "doors/http/web_socket.h"

namespace cloche::http {
namespace {

constexpr std::string_view upgrade =
    "GET /w HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

std::string text(std::string_view payload) { return masked_frame(0x81, payload); }
std::string beginning_of_text() { return masked_frame(0x01, "-"); }
std::string no_frame() { return masked_frame(0x85, "?"); }
std::string pong() { return masked_frame(0x8a, "??"); }
std::string close_frame() { return masked_frame(0x88, ""); }
// What such a client hears: the code 4000, its reason, and the end.
constexpr std::string_view closed_by_server =
    "\x88\x05\x0f\xa0"
    "byeend";
constexpr std::string_view close_of_server =
    closed_by_server.substr(0, closed_by_server.size() - std::string_view("end").size());

// Answers with so many messages, and closes.
class Closer final : public WebSocketUser {
 public:
  Closer(int& alive, int answers) : alive_(alive), answers_(answers) { ++alive_; }
  ~Closer() override { --alive_; }
  void opened(std::shared_ptr<WebSocket> socket) override { socket_ = std::move(socket); }
  void received(WebSocket::Frame frame, std::string) override {
    for (int i = 0; i < answers_; ++i) socket_->send(frame, WebSocket::Kind::answer, "x");
    socket_->close(4000, "bye");
  }
  void closed() override { socket_.reset(); }

 private:
  int& alive_;
  const int answers_;
  std::shared_ptr<WebSocket> socket_;
};

// A client whose WebSocket is open, and the connection to it.
class OpenSocket {
 public:
  explicit OpenSocket(int answers) {
    host_.its_options.head_timeout = std::chrono::milliseconds(100);
    host_.on_handle = [this, answers](Request request, const std::shared_ptr<Exchange>& exchange) {
      exchange->open_web_socket(std::move(request), "", std::make_shared<Closer>(alive_, answers));
    };
    ConnectedPair pair = connected_pair(loop_);
    client_ = std::move(pair.client);
    const int room = 1;  // the least that the kernel gives
    CLOCHE_CHECK(
        ::setsockopt(pair.server.native_handle(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0);
    make_plain_connection(host_, loop_, std::move(pair.server))->start();
    say(std::string(upgrade));
    CLOCHE_CHECK(heard().starts_with("HTTP/1.1 101"));
  }
  void say(const std::string& bytes) {
    CLOCHE_CHECK(::send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(bytes.size()));
    run({});
  }
  // What can be done now, and what comes for so long.
  void run(std::chrono::milliseconds time) {
    loop_.context().restart();
    loop_.context().run_for(time);
    while (loop_.context().poll() > 0) continue;
  }
  // All that came, also the end (in which case the last is "end").
  std::string heard() {
    std::string all;
    std::array<char, 4096> bytes{};
    while (true) {
      const auto n = ::recv(client_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n < 0) return all;
      if (n == 0) return all + "end";
      all.append(bytes.data(), static_cast<std::size_t>(n));
      run({});
    }
  }

  void say_no_more() {
    ::shutdown(client_.get(), SHUT_WR);
    run({});
  }
  bool alive() const { return alive_ != 0; }

 private:
  Loops loops_{1};
  Loop& loop_ = loops_[0];
  HostInMemory host_;
  int alive_ = 0;
  UniqueFd client_;
};

TEST(WebSocketEnd, OfAClientThatSendsNoFrameAfterwards) {
  OpenSocket socket(0);
  socket.say(text("close") + beginning_of_text() + no_frame());
  EXPECT_EQ(socket.heard(), closed_by_server);
  socket.say_no_more();
  EXPECT_FALSE(socket.alive());
}

TEST(WebSocketEnd, OfAClientThatClosesItselfAtOnce) {
  OpenSocket socket(0);
  socket.say(text("close") + close_frame());
  EXPECT_EQ(socket.heard(), closed_by_server);
  socket.say_no_more();
  EXPECT_FALSE(socket.alive());
}

TEST(WebSocketEnd, OfAClientThatSendsAPongBeforeItsClose) {
  OpenSocket socket(0);
  socket.say(text("close") + pong() + close_frame());
  EXPECT_EQ(socket.heard(), closed_by_server);
  socket.say_no_more();
  EXPECT_FALSE(socket.alive());
}

// A pong between them lets Beast's read go on while the close is written.
TEST(WebSocketEnd, ComesInTimeOfAClientThatSendsAPongAndNoFrame) {
  OpenSocket socket(0);
  socket.say(text("close") + pong() + no_frame());
  EXPECT_EQ(socket.heard(), close_of_server);
  socket.say_no_more();
  socket.run(std::chrono::milliseconds(250));
  EXPECT_FALSE(socket.alive());
}

// Where the close is still being written when what is no frame comes, Beast ends neither.
TEST(WebSocketEnd, ComesInTimeOfAClientThatReadsLate) {
  int late = 0;
  for (int answers = 1; answers < 12; ++answers) {
    OpenSocket socket(answers);
    socket.say(text("close"));
    socket.say(no_frame());
    socket.heard();
    socket.say_no_more();
    if (!socket.alive()) continue;
    ++late;
    socket.run(std::chrono::milliseconds(250));
    EXPECT_FALSE(socket.alive()) << answers;
  }
  EXPECT_GT(late, 0);
}

}  // namespace
}  // namespace cloche::http
