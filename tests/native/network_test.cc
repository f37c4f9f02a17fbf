// SPDX-License-Identifier: Apache-2.0
// The network of native programs: what a policy allows them is what it allows a guest of the other
// engine. Against servers on the loopback of this machine.
#include <arpa/inet.h>
#include <dirent.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "../loopback_server_testing.h"
#include "cloche/engine.h"
#include "native/host/test_image_testing.h"
#include "native/images/image_store.h"

namespace cloche::testing {
namespace {

namespace fs = std::filesystem;

using Speaks = LoopbackServer::Speaks;

std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  DIR* const entries = ::opendir(folder);
  while (::readdir(entries) != nullptr) ++count;
  ::closedir(entries);
  return count;
}

// Says "bye" to all who come, and ends.
class Greeter {
 public:
  explicit Greeter(in_addr_t address)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(address);
    socklen_t size = sizeof here;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&here), size), 0);
    EXPECT_EQ(::listen(listener_, 64), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size);
    port_ = ntohs(here.sin_port);
    serving_ = std::thread([this] {
      for (int fd = 0; (fd = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(fd))
        (void)::send(fd, "bye", 3, MSG_NOSIGNAL);
    });
  }
  ~Greeter() {
    ::shutdown(listener_, SHUT_RDWR);
    serving_.join();
    ::close(listener_);
  }
  Greeter(const Greeter&) = delete;
  Greeter& operator=(const Greeter&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  const int listener_;
  std::uint16_t port_ = 0;
  std::thread serving_;
};

// Takes no connection: an attempt waits until somebody's patience ends.
class Silent {
 public:
  Silent() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    here_.sin_family = AF_INET;
    here_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here_;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&here_), size), 0);
    EXPECT_EQ(::listen(listener_, 0), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&here_), &size);
    for (int& fd : waiting_) {  // the room that there is
      fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      (void)::connect(fd, reinterpret_cast<sockaddr*>(&here_), size);
    }
  }
  ~Silent() {
    for (const int fd : waiting_) ::close(fd);
    ::close(listener_);
  }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;

  std::uint16_t port() const { return ntohs(here_.sin_port); }
  std::string rule() const { return fmt::format("localhost:{}", port()); }

 private:
  const int listener_;
  sockaddr_in here_{};
  std::array<int, 4> waiting_{};
};

class NativeNetwork : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!native::no_boxes_here().empty()) return;
    std::string name = (fs::temp_directory_path() / "cloche-images-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    store = name;
    fs::permissions(store, fs::perms(0755));
    ::setenv("CLOCHE_IMAGES", name.c_str(), 1);
    (void)images::ImageStore({.folder = store, .unpacker = {}})
        .import(native::test_image(), "test");
  }
  static void TearDownTestSuite() {
    std::error_code error;
    if (!store.empty()) fs::remove_all(store, error);
  }

  void SetUp() override {
    CLOCHE_NEEDS_BOXES();
    if (!native::test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
    engine_ = std::make_unique<Engine>(EngineOptions{.system_folder = CLOCHE_ROOTFS_DIR});
  }
  void TearDown() override { engine_.reset(); }

  std::unique_ptr<Sandbox> make(NetworkOptions network,
                                EngineKind kind = EngineKind::native_linux) {
    SandboxOptions options;
    options.engine = kind;
    if (kind == EngineKind::native_linux) options.image = "test";
    network.audit = [this](const NetworkEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
    options.network = std::move(network);
    return engine_->create(options);
  }

  static RunResult python(Sandbox& sandbox, const std::string& code, std::uint16_t port = 0) {
    return sandbox.run(
        {.argv = {"python3", "-c", code},
         .environment = {{"PYTHONWARNINGS", "ignore"}, {"PORT", std::to_string(port)}},
         .timeout = std::chrono::milliseconds(120'000)});
  }

  bool has_event(NetworkEvent::Kind kind, bool allowed, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(events_, [&](const NetworkEvent& event) {
      return event.kind == kind && event.allowed == allowed &&
             event.reason.find(reason) != std::string::npos;
    });
  }

  static fs::path store;
  std::unique_ptr<Engine> engine_;
  std::mutex mutex_;
  std::vector<NetworkEvent> events_;
};

fs::path NativeNetwork::store;

// What a program finds at each of some addresses, and at names.
constexpr const char* look_around = R"(
import os, socket
port = int(os.environ["PORT"])
for host, at in (("127.0.0.1", port), ("localhost", port), ("::1", port), ("0.0.0.0", port),
                 ("::ffff:127.0.0.1", port), ("127.0.0.2", port), ("127.0.0.1", 1), ("8.8.8.8", 80),
                 ("169.254.169.254", 80), ("10.0.0.1", 80), ("::ffff:10.0.0.1", 80),
                 ("2002:7f00:1::", 80), ("64:ff9b::7f00:1", 80), ("fe80::1", 80), ("8.8.8.8", 0)):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as s:
            s.settimeout(20)
            s.connect((host, at))
            print(host, "reached", s.getpeername()[1] == port)
    except (PermissionError, ConnectionRefusedError) as error:
        print(host, type(error).__name__)
    except OSError:
        print(host, "unreachable")
for name in "example.com", "a.example.org":
    try:
        socket.getaddrinfo(name, 80)
        print(name, "found")
    except OSError as error:
        print(name, "not found")
)";

TEST_F(NativeNetwork, ThereIsNoneByDefault) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make({});
  const RunResult result = python(*sandbox, look_around, server.port());
  EXPECT_EQ(result.stdout_data.find(" reached"), std::string::npos) << result.stdout_data;
  EXPECT_EQ(result.stdout_data.find("m found"), std::string::npos) << result.stdout_data;
  EXPECT_NE(result.stdout_data.find("127.0.0.1 ConnectionRefusedError\n"), std::string::npos);
  EXPECT_NE(result.stdout_data.find("8.8.8.8 unreachable\n"), std::string::npos);
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(NativeNetwork, RulesMeanWhatTheyMeanInTheOtherEngine) {
  const LoopbackServer server(Speaks::http);
  const std::string port = fmt::format(":{}", server.port());
  struct Rules {
    std::vector<std::string> allow, deny;
  };
  for (const Rules& rules : {Rules{{server.rule()}, {}},
                             {{"127.0.0.1" + port}, {}},
                             {{"127.0.0.0/8"}, {"127.0.0.2"}},
                             {{server.rule()}, {"localhost" + port}},
                             {{"*"}, {}},
                             {{"0.0.0.0/0:1-70", "[::1]"}, {"*.org"}},
                             {{"localhost", "10.9.9.9"}, {"*"}}}) {
    std::array<std::string, 2> seen;
    for (const EngineKind kind : {EngineKind::wasm, EngineKind::native_linux}) {
      const auto sandbox = make({.allow = rules.allow,
                                 .deny = rules.deny,
                                 .connect_timeout = std::chrono::milliseconds(500)},
                                kind);
      const RunResult result = python(*sandbox, look_around, server.port());
      seen[kind == EngineKind::wasm ? 0 : 1] = result.stdout_data + result.stderr_data;
    }
    EXPECT_EQ(seen[0], seen[1]) << rules.allow.front();
  }
}

TEST_F(NativeNetwork, ARuleOpensWhatItNamesAndNothingElse) {
  const LoopbackServer server(Speaks::http);
  const LoopbackServer other(Speaks::http);
  auto sandbox = make({.allow = {server.rule()}});
  const RunResult result = python(*sandbox,
                                  fmt::format(R"(
import http.client, os, socket, urllib.request
port = int(os.environ["PORT"])
print(urllib.request.urlopen(f"http://localhost:{{port}}/a").read().split()[:2])
connection = http.client.HTTPConnection("127.0.0.1", port)
for path in "/b", "/c":
    connection.request("POST", path, body=b"text", headers={{"Content-Length": "4"}})
    print(connection.getresponse().read()[-4:])
for address in ("127.0.0.1", {}), ("8.8.8.8", 80), ("169.254.169.254", 80), ("::ffff:10.0.0.1", 80):
    try:
        socket.create_connection(address, timeout=20)
        print("connected to", address)
    except OSError as error:
        print(type(error).__name__)
try:
    socket.getaddrinfo("example.com", 80)
except socket.gaierror as error:
    print(error.errno == socket.EAI_NONAME)
)",
                                              other.port()),
                                  server.port());
  EXPECT_EQ(result.stdout_data,
            "[b'GET', "
            "b'/a']\nb'text'\nb'text'\nConnectionRefusedError\nPermissionError\nPermissionError\n"
            "PermissionError\nTrue\n")
      << result.stderr_data;
  EXPECT_EQ(other.connections(), 0);
  sandbox.reset();  // the last events have been told then
  EXPECT_TRUE(has_event(NetworkEvent::Kind::connect, true, server.rule()));
  EXPECT_TRUE(has_event(NetworkEvent::Kind::connect, false, "link-local"));
  EXPECT_TRUE(has_event(NetworkEvent::Kind::resolve, false, "no rule allows this name"));
}

// The server is at an address of this machine that only a rule on names could lead to.
TEST_F(NativeNetwork, ANameLeadsToNoAddressOfTheMachine) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make({.allow = {"*"}});
  std::array<char, 256> own{};
  ASSERT_EQ(::gethostname(own.data(), own.size() - 1), 0);
  const RunResult result = python(*sandbox,
                                  fmt::format(R"(
import os, socket, struct
def ask(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(60)
        question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
        s.sendto(b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + question + b"\0\1\0\1", ("127.0.0.1", 53))
        answer = s.recv(4096)
    at = 12 + len(question) + 4
    found = []
    for _ in range(struct.unpack(">H", answer[6:8])[0]):
        found.append(socket.inet_ntoa(answer[at + 12:at + 16]))
        at += 16
    return found
for name in "localhost", "{}":
    for address in ask(name):
        try:
            socket.create_connection((address, int(os.environ["PORT"])), timeout=20)
            print("connected to", address)
        except (PermissionError, ConnectionRefusedError):
            print("refused")
)",
                                              own.data()),
                                  server.port());
  EXPECT_TRUE(result.stdout_data.starts_with("refused\n")) << result.stderr_data;
  EXPECT_EQ(result.stdout_data.find("connected"), std::string::npos) << result.stdout_data;
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(NativeNetwork, LimitsAreKept) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox =
      make({.allow = {server.rule()}, .max_connections = 2, .max_bytes = 1'000'000});
  const RunResult result = python(*sandbox, R"(
import http.client, os, socket
port = int(os.environ["PORT"])
kept = [socket.create_connection(("localhost", port)) for _ in range(2)]
try:
    socket.create_connection(("localhost", port))
except PermissionError:
    print("two at a time")
for one in kept:
    one.close()
while True:
    try:
        connection = http.client.HTTPConnection("localhost", port)
        connection.connect()
        break
    except PermissionError:  # the end of one is told to the other side first
        pass
try:
    for _ in range(100):
        connection.request("GET", "/big?100000")
        connection.getresponse().read()
    print("unlimited")
except (OSError, http.client.HTTPException):
    print("not more than that")
)",
                                  server.port());
  EXPECT_EQ(result.stdout_data, "two at a time\nnot more than that\n") << result.stderr_data;
}

TEST_F(NativeNetwork, TheProgramsOwnTlsIsEndToEnd) {
  const LoopbackServer server(Speaks::https);
  const auto sandbox = make({.allow = {server.rule()}});
  ASSERT_TRUE(sandbox->files().write("authority.pem", server.authority()).ok());
  const RunResult result = python(*sandbox, R"(
import os, ssl, urllib.request
port = os.environ["PORT"]
good = ssl.create_default_context(cafile="authority.pem")
print(len(urllib.request.urlopen(f"https://localhost:{port}/big?5000000", context=good).read()))
try:
    urllib.request.urlopen(f"https://localhost:{port}/")
except OSError as error:
    print(error.reason.reason)
)",
                                  server.port());
  EXPECT_EQ(result.stdout_data, "5000000\nCERTIFICATE_VERIFY_FAILED\n") << result.stderr_data;
}

TEST_F(NativeNetwork, ManyThreadsAndEventLoopsConnectAtOnce) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make({.allow = {server.rule()}});
  const RunResult result = python(*sandbox, R"(
import asyncio, os, threading, urllib.request
port = int(os.environ["PORT"])
async def fetch(i):
    reader, writer = await asyncio.open_connection("localhost", port)
    writer.write(f"GET /slow{i} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    data = await reader.read()
    peer = writer.get_extra_info("peername")
    writer.close()
    return data.split()[0], peer
async def refused():
    try:
        await asyncio.open_connection("10.0.0.1", port)
    except PermissionError:
        return "refused"
async def main():
    return await asyncio.gather(refused(), *[fetch(i) for i in range(20)])
told, *answers = asyncio.run(main())
print(told, set(answers) == {(b"HTTP/1.1", ("127.0.0.1", port))})
done = []
def work():
    for _ in range(10):
        done.append(urllib.request.urlopen(f"http://localhost:{port}/").status)
threads = [threading.Thread(target=work) for _ in range(10)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done), set(done))
)",
                                  server.port());
  EXPECT_EQ(result.stdout_data, "refused True\n100 {200}\n") << result.stderr_data;
}

// The server's word and its end are there before the program has its connection.
TEST_F(NativeNetwork, AServerThatEndsAtOnceHasEnded) {
  const Greeter greeter(INADDR_LOOPBACK);
  const auto sandbox = make({.allow = {fmt::format("localhost:{}", greeter.port())}});
  const RunResult result = python(*sandbox, R"(
import os, socket
heard = set()
for _ in range(200):
    s = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))
    heard.add(s.recv(10) + s.recv(10))
print(heard)
)",
                                  greeter.port());
  EXPECT_EQ(result.stdout_data, "{b'bye'}\n") << result.stderr_data;
}

TEST_F(NativeNetwork, WhatTheSandboxItselfServesIsItsOwn) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make(
      {.allow = {server.rule(), "10.9.9.9"}, .connect_timeout = std::chrono::milliseconds(1000)});
  const RunResult result = python(*sandbox, R"(
import os, socket, urllib.request
port = int(os.environ["PORT"])
print(urllib.request.urlopen(f"http://127.0.0.1:{port}/").status)
own = socket.socket()
own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
own.bind(("0.0.0.0", port))
own.listen()
there = socket.create_connection(("127.0.0.1", port), timeout=20)
here, _ = own.accept()
here.send(b"mine")
print(there.recv(4))
try:
    socket.create_connection(("10.9.9.9", port), timeout=20)
    print("at home everywhere")
except OSError:
    print("not at that address")
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(("127.0.0.1", 5000))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendto(b"x", ("127.0.0.1", 5000))
print(datagrams.recv(1))
local = socket.socket(socket.AF_UNIX)
local.bind("socket")
local.listen()
other = socket.socket(socket.AF_UNIX)
other.connect("socket")
print("local")
)",
                                  server.port());
  EXPECT_EQ(result.stdout_data, "200\nb'mine'\nnot at that address\nb'x'\nlocal\n")
      << result.stderr_data;
  EXPECT_EQ(server.connections(), 1);
}

// An address of this machine in a network; empty: it has none.
std::string own_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::string found;
  for (const ifaddrs* one = all; one != nullptr && found.empty(); one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        (one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0)
      continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* in = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    found = ::inet_ntop(AF_INET, &in->sin_addr, text.data(), text.size());
  }
  ::freeifaddrs(all);
  return found;
}

TEST_F(NativeNetwork, ThePeerIsWhomAProgramHasAskedFor) {
  const std::string own = own_address();
  if (own.empty()) GTEST_SKIP() << "this machine is in no network";
  const Greeter greeter(INADDR_ANY);
  const auto sandbox = make({.allow = {fmt::format("{}:{}", own, greeter.port())}});
  const RunResult result = python(*sandbox,
                                  fmt::format(R"(
import os, socket
own, port = "{}", int(os.environ["PORT"])
def peer(address, family):
    with socket.socket(family) as s:
        s.connect((address, port))
        return s.recv(10), s.getpeername()[0]
print(peer(own, socket.AF_INET) == (b"bye", own))
print(peer("::ffff:" + own, socket.AF_INET6) == (b"bye", "::ffff:" + own))
# The port is a server's of the box: only the peer's address differs.
taken = socket.create_server(("0.0.0.0", port))
print(peer(own, socket.AF_INET) == (b"bye", "127.0.0.1"))
print(peer("::ffff:" + own, socket.AF_INET6) == (b"bye", "::ffff:127.0.0.1"))
)",
                                              own),
                                  greeter.port());
  EXPECT_EQ(result.stdout_data, "True\nTrue\nTrue\nTrue\n") << result.stderr_data;
}

TEST_F(NativeNetwork, RulesChangeWhileTheSandboxRuns) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make({});
  const std::string fetch = R"(
import http.client, os
try:
    c = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]), timeout=20)
    c.request("GET", "/")
    print(c.getresponse().status)
except OSError as error:
    print(type(error).__name__)
)";
  const auto fetched = [&](Sandbox& from) {
    return python(from, fetch, server.port()).stdout_data;
  };
  EXPECT_EQ(fetched(*sandbox), "ConnectionRefusedError\n");
  const std::string kept = fmt::format(
      "import urllib.request\ntry:\n  "
      "print(urllib.request.urlopen('http://127.0.0.1:{}/').status)\n"
      "except OSError as error:\n  print('none')",
      server.port());
  EXPECT_EQ(sandbox->run_python(kept).stdout_data, "none\n");
  sandbox->set_network_rules({server.rule()});
  EXPECT_EQ(fetched(*sandbox), "200\n");
  EXPECT_EQ(sandbox->run_python(kept).stdout_data, "200\n");
  EXPECT_EQ(sandbox->network_rules(), std::vector<std::string>{server.rule()});
  EXPECT_THROW(sandbox->set_network_rules({"no rule"}), Error);
  const auto fork = sandbox->fork();

  // A connection that was open ends when its rule is taken back.
  std::thread revoking;
  const RunResult held = sandbox->run({.argv = {"python3", "-c",
                                                fmt::format(R"(
import socket
s = socket.create_connection(("127.0.0.1", {}))
print("open", flush=True)
try:
    s.recv(1)
except OSError as error:
    pass
)",
                                                            server.port())},
                                       .timeout = std::chrono::milliseconds(60'000),
                                       .output = [&](Stream, std::string_view text) {
                                         if (text.starts_with("open"))
                                           revoking =
                                               std::thread([&] { sandbox->set_network_rules({}); });
                                       }});
  ASSERT_TRUE(revoking.joinable());
  revoking.join();
  EXPECT_EQ(held.status, RunStatus::exited);
  EXPECT_EQ(fetched(*sandbox), "ConnectionRefusedError\n");
  EXPECT_EQ(fetched(*fork), "200\n");
}

TEST_F(NativeNetwork, APatientProgramLearnsThatNobodyAnswers) {
  const Silent silent;
  const auto sandbox =
      make({.allow = {silent.rule()}, .connect_timeout = std::chrono::milliseconds(300)});
  const RunResult result = python(*sandbox, R"(
import os, socket
try:
    socket.socket().connect(("127.0.0.1", int(os.environ["PORT"])))
except OSError as error:
    print(type(error).__name__)
)",
                                  silent.port());
  EXPECT_EQ(result.stdout_data, "TimeoutError\n") << result.stderr_data;
}

// It goes on after a while, as with a connection; and then there is none.
TEST_F(NativeNetwork, AProgramThatDoesNotWaitLearnsItLater) {
  auto silent = std::make_unique<Silent>();
  const auto sandbox =
      make({.allow = {silent->rule()}, .connect_timeout = std::chrono::milliseconds(60'000)});
  std::string said;
  (void)sandbox->run({.argv = {"python3", "-c",
                               fmt::format(R"(
import socket
s = socket.socket()
s.settimeout(60)
s.connect(("127.0.0.1", {}))
print("goes on", flush=True)
try:
    print(s.recv(1))
except OSError as error:
    print(type(error).__name__)
)",
                                           silent->port())},
                      .timeout = std::chrono::milliseconds(120'000),
                      .output = [&](Stream, std::string_view text) {
                        said += text;
                        silent.reset();
                      }});
  EXPECT_EQ(said, "goes on\nConnectionResetError\n");
}

TEST_F(NativeNetwork, AForkDoesNotWaitForConnections) {
  const Silent silent;
  const auto sandbox =
      make({.allow = {silent.rule()}, .connect_timeout = std::chrono::milliseconds(60'000)});
  EXPECT_EQ(python(*sandbox, R"(
import os, socket
if os.fork() == 0:
    for fd in 0, 1, 2:
        os.close(fd)
    socket.socket().connect(("127.0.0.1", int(os.environ["PORT"])))
    open("connected", "w").close()
)",
                   silent.port())
                .exit_code,
            0);
  const auto twin = sandbox->fork();
  EXPECT_EQ(twin->run({.script = "ls; echo twin"}).stdout_data, "twin\n");
  EXPECT_EQ(sandbox->run({.script = "ls; echo here"}).stdout_data, "here\n");
}

TEST_F(NativeNetwork, RubbishAtTheNameServerIsSurvived) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make({.allow = {server.rule()}});
  const RunResult result = python(*sandbox, R"(
import os, random, socket, urllib.request
port = os.environ["PORT"]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setblocking(False)
random.seed(1)
head = b"\x12\x34\1\0\0\1\0\0\0\0\0\0"
for i in range(3000):
    body = random.randbytes(random.randrange(0, 300))
    for packet in (body, head + body, head + b"\xc0\x0c" + body, head + b"\x3f" * i):
        try:
            s.sendto(packet[:4000], ("127.0.0.1", 53))
        except BlockingIOError:
            pass
print(urllib.request.urlopen(f"http://localhost:{port}/").status)
print(socket.gethostbyname("localhost"))
)",
                                  server.port());
  EXPECT_EQ(result.stdout_data, "200\n127.0.0.1\n") << result.stderr_data;
}

TEST_F(NativeNetwork, NoTrickLeadsAroundTheRules) {
  const LoopbackServer server(Speaks::http);
  const LoopbackServer allowed(Speaks::http);
  const auto sandbox = make({.allow = {allowed.rule()}});
  std::ifstream file(CLOCHE_NATIVE_GUESTS_DIR "/dials_by_tricks", std::ios::binary);
  const std::string program{std::istreambuf_iterator<char>(file), {}};
  ASSERT_TRUE(sandbox->files().write("dials_by_tricks", program, 0755).ok());
  const RunResult result =
      sandbox->run({.argv = {"/workspace/dials_by_tricks", std::to_string(server.port()),
                             std::to_string(allowed.port())},
                    .timeout = std::chrono::milliseconds(120'000)});
  EXPECT_EQ(result.stdout_data, "done\n") << result.reason << result.stderr_data;
  EXPECT_EQ(server.connections(), 0);
  EXPECT_GT(allowed.connections(), 0);
}

TEST_F(NativeNetwork, NothingIsLeftOfConnectionsWhoseProgramsEnd) {
  ::setenv("CLOCHE_READY_BOXES", "0", 1);  // nothing is made behind while this is counted
  SetUp();
  ::unsetenv("CLOCHE_READY_BOXES");
  // What begins once.
  (void)make({.allow = {"localhost"}})
      ->run({.argv = {"true"}, .timeout = std::chrono::milliseconds(60'000)});
  const std::size_t files = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
  {
    const LoopbackServer server(Speaks::http);
    const Silent silent;
    const auto sandbox = make({.allow = {server.rule(), silent.rule()},
                               .connect_timeout = std::chrono::milliseconds(60'000)});
    const RunResult result = sandbox->run({.argv = {"python3", "-c",
                                                    fmt::format(R"(
import os, signal, socket, time
children = []
for i in range(30):
    child = os.fork()
    if child == 0:
        if i % 2:
            s = socket.socket()
            s.connect(("127.0.0.1", {}))
        s = socket.create_connection(("127.0.0.1", {}))
        signal.pause()
    children.append(child)
    if i % 3:
        os.kill(child, signal.SIGKILL)
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print(len(children))
)",
                                                                silent.port(), server.port())},
                                           .timeout = std::chrono::milliseconds(60'000)});
    EXPECT_EQ(result.stdout_data, "30\n") << result.stderr_data;
  }
  EXPECT_EQ(entries_of("/proc/self/task"), threads);
  EXPECT_EQ(entries_of("/proc/self/fd"), files);
}

}  // namespace
}  // namespace cloche::testing
