// SPDX-License-Identifier: Apache-2.0
// Connections from the host to servers in a sandbox: what forwarded ports stand on.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cloche/live_run.h"
#include "cloche/loopback.h"
#include "engines_testing.h"

namespace cloche::testing {
namespace {

// A client that waits where the connection says that there is nothing yet.
class Client {
 public:
  // Waits for the server to listen.
  Client(Sandbox& sandbox, std::uint16_t port) {
    for (int i = 0; i < 3000 && !connection_; ++i) {
      auto made = sandbox.connect(port, [this] { notice(); });
      if (made) {
        connection_ = *std::move(made);
      } else {
        EXPECT_EQ(made.error(), Errno::connrefused);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    EXPECT_TRUE(connection_);
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const Result<std::size_t> done = again([&] { return connection_->write(bytes); });
      ASSERT_TRUE(done) << static_cast<int>(done.error());
      bytes.remove_prefix(*done);
    }
  }
  void end_input() { connection_->close_input(); }
  // At most so many bytes, or to the end.
  std::string receive(std::size_t most = std::size_t{1} << 30) {
    std::string all;
    std::vector<char> piece(100'000);
    while (all.size() < most) {
      const Result<std::size_t> got = again([&] {
        return connection_->read(std::span(piece).first(std::min(piece.size(), most - all.size())));
      });
      if (!got || *got == 0) break;
      all.append(piece.data(), *got);
    }
    return all;
  }
  LoopbackConnection& connection() { return *connection_; }

 private:
  void notice() {
    const MutexLock lock(mutex_);
    ++changes_;
    changed_.notify_all();
  }

  template <typename Attempt>
  Result<std::size_t> again(Attempt attempt) {
    for (;;) {
      std::uint64_t before = 0;
      {
        const MutexLock lock(mutex_);
        before = changes_;
      }
      const Result<std::size_t> done = attempt();
      if (done || done.error() != Errno::again) return done;
      const MutexLock lock(mutex_);
      if (!changed_.wait_for(mutex_, std::chrono::seconds(60),
                             [&]() REQUIRES(mutex_) { return changes_ != before; }))
        return Errno::timedout;
    }
  }

  Mutex mutex_;
  Condition changed_;
  std::uint64_t changes_ GUARDED_BY(mutex_) = 0;
  std::unique_ptr<LoopbackConnection> connection_;  // ends first
};

class Loopback : public PythonOnEachEngine {
 protected:
  // Of as many connections as come, each of which gets in capitals what it sends.
  static std::unique_ptr<LiveRun> serve(Sandbox& sandbox, const std::string& place) {
    LiveRunOptions options;
    options.command.argv = {
        "python3", "-c",
        "import socket, threading\n"
        "def serve(one):\n"
        "    while piece := one.recv(65536): one.sendall(piece.upper())\n"
        "    one.close()\n"
        "server = socket.socket(socket." +
            std::string(place.find(':') != std::string::npos ? "AF_INET6" : "AF_INET") +
            ")\n"
            "server.bind(('" +
            place +
            "', 8000)); server.listen(64)\n"
            "while True:\n"
            "    threading.Thread(target=serve, args=(server.accept()[0],), "
            "daemon=True).start()\n"};
    return sandbox.start(std::move(options));
  }
};

TEST_P(Loopback, CarriesWhatBothSay) {
  for (const char* place : {"127.0.0.1", "0.0.0.0", "::1"}) {
    const auto sandbox = make_sandbox();
    const auto server = serve(*sandbox, place);
    Client client(*sandbox, 8000);
    client.send("hello");
    EXPECT_EQ(client.receive(5), "HELLO") << place;
    client.send("there");
    client.end_input();
    EXPECT_EQ(client.receive(), "THERE") << place;
    server->kill();
  }
}

TEST_P(Loopback, IsThereBesideANetwork) {
  SandboxOptions options;
  options.network.allow = {"192.0.2.1:443"};
  const auto sandbox = make_sandbox(options);
  const auto server = serve(*sandbox, "127.0.0.1");
  Client client(*sandbox, 8000);
  client.send("hello");
  client.end_input();
  EXPECT_EQ(client.receive(), "HELLO");
  server->kill();
}

TEST_P(Loopback, CarriesMuchForMany) {
  const auto sandbox = make_sandbox();
  const auto server = serve(*sandbox, "127.0.0.1");
  const std::string text(3'000'000, 'x');
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>(*sandbox, 8000));
  std::vector<std::thread> threads;
  for (auto& client : clients) {
    threads.emplace_back([&] {
      std::thread writer([&] {
        client->send(text);
        client->end_input();
      });
      EXPECT_EQ(client->receive(), std::string(text.size(), 'X'));
      writer.join();
    });
  }
  for (std::thread& thread : threads) thread.join();
  server->kill();
}

TEST_P(Loopback, RefusesWhereNobodyListens) {
  const auto sandbox = make_sandbox();
  for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{8000}}) {
    const auto made = sandbox->connect(port, [] {});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error(), Errno::connrefused) << port;
  }
  // This machine's own servers are none of the sandbox's.
  const auto server = serve(*sandbox, "127.0.0.1");
  Client client(*sandbox, 8000);
  const auto other = make_sandbox();
  EXPECT_EQ(other->connect(8000, [] {}).error(), Errno::connrefused);
  server->kill();
}

TEST_P(Loopback, SeesAServerGo) {
  const auto sandbox = make_sandbox();
  const auto server = serve(*sandbox, "127.0.0.1");
  Client client(*sandbox, 8000);
  client.send("x");
  EXPECT_EQ(client.receive(1), "X");
  server->kill();
  EXPECT_EQ(client.receive(), "");
  std::vector<char> room(10);
  const Result<std::size_t> got = client.connection().read(room);
  EXPECT_TRUE(got ? *got == 0 : got.error() == Errno::connreset);
}

CLOCHE_ON_EACH_ENGINE(Loopback);

}  // namespace
}  // namespace cloche::testing
