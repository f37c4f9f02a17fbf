// SPDX-License-Identifier: Apache-2.0
// Connections to servers inside sandboxes, where somebody stops in the middle.
#include "doors/e2b/port_relays.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock_testing.h"
#include "base/refused_threads_testing.h"
#include "cloche/folder_watch.h"
#include "cloche/live_run.h"
#include "doors/http/exchange_testing.h"
#include "sandbox_testing.h"

namespace cloche::e2b {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr std::uint16_t port = 8000;
constexpr std::size_t large_bytes = 50'000'000;
const std::string agreed = "HTTP/1.1 101 Switching Protocols\r\n\r\n";

// GET /half stops in its answer, /mute before it, /large has much to say, /later answers when it has
// heard all, and a WebSocket says back what it hears, but for the one at /socket/deaf; of a POST it
// reads nothing.
constexpr const char* server_inside = R"py(
import select, socket
listener = socket.create_server(("127.0.0.1", 8000), backlog=1000)
print("listening", flush=True)
sockets, echoing, left = [listener], set(), {}
while True:
    for ready in select.select(sockets, list(left), [])[0]:
        if ready is listener:
            connection = listener.accept()[0]
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(1)
            if head.startswith(b"GET /half"):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            if head.startswith(b"GET /socket"):
                connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            if head.startswith((b"GET /socket ", b"GET /later")):
                sockets.append(connection)
            connection.setblocking(False)
            left[connection] = 50_000_000 if head.startswith(b"GET /large") else 0
            if not left[connection]:
                left.pop(connection)
                echoing.add(connection)  # it is kept
        elif data := ready.recv(1000):
            ready.send(data)
        else:
            sockets.remove(ready)
            try:
                ready.send(b"the end")
            except OSError:
                pass
            ready.close()
    for connection in select.select([], list(left), [], 0)[1]:
        try:
            left[connection] -= connection.send(bytes(min(left[connection], 10000)))
        except OSError:
            left.pop(connection)
            print("left", flush=True)
)py";

// Gives the other end of a pair of sockets away.
class Client final : public http::UnexpectedExchange {
 public:
  Client() {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    own_.reset(pair[0]);
    relays_.reset(pair[1]);
  }
  void hand_over(std::function<void(int fd)> taken) override { taken(relays_.release()); }

  // False: the relay has ended.
  bool say(std::string_view bytes) {
    return ::send(own_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  void say_no_more() { EXPECT_EQ(::shutdown(own_.get(), SHUT_WR), 0); }
  // Up to the end of the connection, or that many bytes.
  std::string hear(std::size_t most = SIZE_MAX) {
    std::string heard;
    std::array<char, 65536> piece{};
    while (heard.size() < most) {
      const ssize_t got =
          ::recv(own_.get(), piece.data(), std::min(piece.size(), most - heard.size()), 0);
      if (got <= 0) break;
      heard.append(piece.data(), static_cast<std::size_t>(got));
    }
    return heard;
  }

 private:
  UniqueFd own_;
  UniqueFd relays_;
};

class PortRelaysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    session_ = std::make_shared<session::Session>(session::Facts{},
                                                  session::Twin{testing::make_sandbox(), nullptr},
                                                  session::SteadyTime::max(), clock_);
    LiveRunOptions options;
    options.command.argv = {"python3", "-c", server_inside};
    options.command.output = [this](Stream, std::string_view bytes) {
      const std::lock_guard lock(mutex_);
      said_ += bytes;
      more_.notify_all();
    };
    server_ = session::Session::use(session_)->start(std::move(options));
    wait_for("listening");
  }
  void TearDown() override { server_->kill(); }

  void wait_for(std::string_view word) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return said_.find(word) != std::string::npos; });
  }

  PortRelays::Wish wish_of(http::Request request, const std::string& owner = "",
                           const std::string& box = "box") {
    request.target = request.path;
    return {.id = box,
            .owner = owner,
            .use = session::Session::use(session_),
            .port = port,
            .request = request_for_server(request).value(),
            .last_words = "nobody"};
  }
  Result<void> try_to_ask(PortRelays& relays, Client& client, http::Request request,
                          const std::string& owner = "", const std::string& box = "box") {
    return relays.start(wish_of(std::move(request), owner, box), client);
  }
  void ask(PortRelays& relays, Client& client, http::Request request) {
    ASSERT_TRUE(try_to_ask(relays, client, std::move(request)));
  }
  static http::Request get_socket(std::string path) {
    http::Request request = get(std::move(path));
    request.fields = {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}};
    return request;
  }
  static http::Request get(std::string path) {
    http::Request request;
    request.method = "GET";
    request.path = std::move(path);
    return request;
  }
  static http::Request post(std::size_t bytes) {
    http::Request request = get("/deaf");
    request.method = "POST";
    request.fields = {{"Content-Length", std::to_string(bytes)}};
    return request;
  }

  ManualClock clock_;
  std::shared_ptr<session::Session> session_;
  std::unique_ptr<LiveRun> server_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::string said_;
};

TEST_F(PortRelaysTest, NoThreadIsNeededOnceTheyAreThere) {
  PortRelays relays({});
  Client client;
  const RefusedThreads none;
  ask(relays, client, get("/half"));
  EXPECT_EQ(client.hear(15), "HTTP/1.1 200 OK");
}

TEST_F(PortRelaysTest, AClientThatStopsInItsBodyIsLeft) {
  PortRelays relays({.stall = milliseconds(200), .silence = hours(1)});
  Client client;
  ask(relays, client, post(100));
  EXPECT_TRUE(client.say("not all of it"));
  EXPECT_EQ(client.hear(), "");
}

TEST_F(PortRelaysTest, AServerThatTakesNothingOfABodyIsLeft) {
  PortRelays relays({.stall = milliseconds(200), .silence = hours(1)});
  Client client;
  ask(relays, client, post(large_bytes));
  EXPECT_FALSE(client.say(std::string(large_bytes, 'x')));
}

TEST_F(PortRelaysTest, AClientThatReadsNothingIsLeft) {
  PortRelays relays({.stall = milliseconds(200), .silence = hours(1)});
  Client client;
  ask(relays, client, get("/large"));
  wait_for("left");
  EXPECT_LT(client.hear().size(), large_bytes);
}

TEST_F(PortRelaysTest, AServerThatStopsInItsAnswerOrBeforeItIsLeft) {
  PortRelays relays({.stall = hours(1), .silence = milliseconds(200)});
  Client half;
  ask(relays, half, get("/half"));
  EXPECT_EQ(half.hear(), "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  Client mute;
  ask(relays, mute, get("/mute"));
  EXPECT_EQ(mute.hear(), "");
}

TEST_F(PortRelaysTest, AWebSocketMayBeSilent) {
  PortRelays relays({.stall = milliseconds(200), .silence = milliseconds(200)});
  Client silent;
  ask(relays, silent, get_socket("/socket"));
  EXPECT_EQ(silent.hear(agreed.size()), agreed);
  for (int turn = 0; turn < 3; ++turn) {  // others end meanwhile
    Client other;
    ask(relays, other, get("/mute"));
    EXPECT_EQ(other.hear(), "");
  }
  EXPECT_TRUE(silent.say("still here"));
  EXPECT_EQ(silent.hear(10), "still here");
}

TEST_F(PortRelaysTest, AClientThatSaysNoMoreIsStillAnswered) {
  PortRelays relays({.stall = hours(1), .silence = hours(1)});
  Client plain;
  ask(relays, plain, get("/later"));
  plain.say_no_more();
  EXPECT_EQ(plain.hear(), "the end");
  Client socket;
  ask(relays, socket, get_socket("/socket"));
  EXPECT_EQ(socket.hear(agreed.size()), agreed);
  EXPECT_TRUE(socket.say(std::string(20'000, 'x')));
  socket.say_no_more();
  EXPECT_EQ(socket.hear(), std::string(20'000, 'x') + "the end");
}

TEST_F(PortRelaysTest, AClientThatSaysNoMoreWithinItsBodyIsLeft) {
  PortRelays relays({.stall = hours(1), .silence = hours(1)});
  Client client;
  ask(relays, client, post(100));
  EXPECT_TRUE(client.say("not all of it"));
  client.say_no_more();
  EXPECT_EQ(client.hear(), "");
}

TEST_F(PortRelaysTest, AWebSocketWhoseClientSaysNoMoreIsNotSilentForEver) {
  PortRelays relays({.stall = hours(1), .silence = milliseconds(200)});
  Client client;
  ask(relays, client, get_socket("/socket/deaf"));
  EXPECT_EQ(client.hear(agreed.size()), agreed);
  client.say_no_more();
  EXPECT_EQ(client.hear(), "");
}

TEST_F(PortRelaysTest, WhereThereAreTooManyThoseEndWhoseClientSaysNoMore) {
  PortRelays relays({.stall = hours(1), .silence = hours(1)});
  std::vector<std::unique_ptr<Client>> clients;
  while (clients.size() < PortRelays::of_sandbox_max) {
    clients.push_back(std::make_unique<Client>());
    ask(relays, *clients.back(), clients.size() == 1 ? get("/later") : get("/mute"));
  }
  Client another;
  EXPECT_EQ(try_to_ask(relays, another, get("/half")).error(), Errno::mfile);
  clients.back()->say_no_more();
  Result<void> asked = Errno::mfile;
  while (!asked) asked = try_to_ask(relays, another, get("/half"));  // it is seen soon
  EXPECT_EQ(another.hear(8), "HTTP/1.1");
  EXPECT_EQ(clients.back()->hear(), "");
  clients.front()->say_no_more();
  EXPECT_EQ(clients.front()->hear(), "the end");
}

TEST_F(PortRelaysTest, OneOwnersLeavePlacesToOthers) {
  PortRelays relays({.stall = hours(1), .silence = hours(1)});
  std::vector<std::unique_ptr<Client>> clients;
  std::size_t taken = 0;
  for (const char* box : {"a", "b", "c", "d"}) {
    for (std::size_t i = 0; i < PortRelays::of_sandbox_max; ++i) {
      clients.push_back(std::make_unique<Client>());
      const Result<void> asked = try_to_ask(relays, *clients.back(), get("/mute"), "eve", box);
      EXPECT_TRUE(asked || asked.error() == Errno::mfile);
      taken += asked ? 1 : 0;
    }
  }
  EXPECT_EQ(taken, PortRelays::of_owner_max);
  Client another;
  EXPECT_TRUE(try_to_ask(relays, another, get("/half"), "bob", "e"));
  EXPECT_EQ(another.hear(8), "HTTP/1.1");
}

// As where a sandbox is deleted: who connects holds it, and is left once that is done.
TEST_F(PortRelaysTest, ASandboxMayEndWhileSomebodyConnects) {
  PortRelays relays({.stall = hours(1), .silence = hours(1)});
  const session::Session::Use use = session::Session::use(session_);
  std::latch is_held(1), goes_on(1);
  // Told under the kernel's lock, which a connection wants.
  const auto watch = use->files().watch("/workspace", WatchDepth::folder, [&] {
    is_held.count_down();
    goes_on.wait();
  });
  ASSERT_TRUE(watch);
  std::thread holder([&] { EXPECT_TRUE(use->files().write("/workspace/file", "")); });
  is_held.wait();
  Client client;
  PortRelays::Wish wish = wish_of(get("/half"));
  std::thread caller([&] { EXPECT_TRUE(relays.start(std::move(wish), client)); });
  std::atomic<bool> is_dropped = false;
  std::thread dropper([&] {
    while (!is_dropped) relays.drop("box");
  });
  // Its use of the session is given back then.
  const session::WallTime before = session_->last_activity();
  while (session_->last_activity() == before) clock_.advance(milliseconds(1));
  is_dropped = true;
  dropper.join();
  goes_on.count_down();
  caller.join();
  holder.join();
  EXPECT_EQ(client.hear(8), "");
}

}  // namespace
}  // namespace cloche::e2b
