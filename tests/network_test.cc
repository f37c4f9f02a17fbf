// The network of a sandbox, against servers on the loopback of this machine that the policy names.
#include <algorithm>
#include <mutex>

#include "cloche/python_session.h"
#include "loopback_server_testing.h"
#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using Speaks = LoopbackServer::Speaks;

struct Audit {
  std::mutex mutex;
  std::vector<NetworkEvent> events;

  bool has(NetworkEvent::Kind kind, bool allowed, const std::string& reason) {
    const std::lock_guard lock(mutex);
    return std::ranges::any_of(events, [&](const NetworkEvent& event) {
      return event.kind == kind && event.allowed == allowed &&
             event.reason.find(reason) != std::string::npos;
    });
  }
};

RunResult run_python(Sandbox& sandbox, const std::string& code) {
  return sandbox.run(
      {.argv = {"python3", "-c", code}, .environment = {{"PYTHONWARNINGS", "ignore"}}});
}

std::string with_port(std::string code, std::uint16_t port) {
  for (std::size_t at = code.find("PORT"); at != std::string::npos; at = code.find("PORT", at))
    code.replace(at, 4, std::to_string(port));
  return code;
}

TEST(Network, ThereIsNoneByDefault) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make_sandbox();
  const RunResult result = run_python(*sandbox, with_port(R"(
import socket
for host in "localhost", "8.8.8.8", "example.com":
    try:
        socket.create_connection((host, PORT), timeout=5)
        print("connected to", host)
    except OSError as error:
        print(type(error).__name__)
)",
                                                          server.port()));
  EXPECT_EQ(result.stdout_data, "ConnectionRefusedError\nOSError\ngaierror\n")
      << result.stderr_data;
  EXPECT_EQ(server.connections(), 0);
}

TEST(Network, ARuleOpensWhatItNamesAndNothingElse) {
  const LoopbackServer server(Speaks::http);
  const LoopbackServer other(Speaks::http);
  Audit audit;
  auto sandbox =
      make_sandbox({.network = {.allow = {server.rule()}, .audit = [&](const NetworkEvent& event) {
                                  const std::lock_guard lock(audit.mutex);
                                  audit.events.push_back(event);
                                }}});
  const RunResult result = run_python(
      *sandbox,
      with_port(R"(
import http.client, socket, urllib.request
print(urllib.request.urlopen("http://localhost:PORT/a").read().split()[:2])
connection = http.client.HTTPConnection("127.0.0.1", PORT)
for path in "/b", "/c":
    connection.request("POST", path, body=b"text", headers={"Content-Length": "4"})
    print(connection.getresponse().read()[-4:])
for address in ("127.0.0.1", )" +
                    std::to_string(other.port()) +
                    R"(), ("8.8.8.8", 80), ("169.254.169.254", 80), ("::ffff:10.0.0.1", 80):
    try:
        socket.create_connection(address, timeout=5)
        print("connected to", address)
    except OSError as error:
        print(type(error).__name__)
try:
    socket.getaddrinfo("example.com", 80)
except socket.gaierror as error:
    print(error.args[1])
)",
                server.port()));
  EXPECT_EQ(result.stdout_data,
            "[b'GET', "
            "b'/a']\nb'text'\nb'text'\nConnectionRefusedError\nPermissionError\nPermissionError\n"
            "PermissionError\nexample.com is not permitted by the network policy of this sandbox\n")
      << result.stderr_data;
  EXPECT_EQ(other.connections(), 0);
  sandbox.reset();  // the last events have been told then
  EXPECT_TRUE(audit.has(NetworkEvent::Kind::connect, true, server.rule()));
  EXPECT_TRUE(audit.has(NetworkEvent::Kind::connect, false, "link-local"));
  EXPECT_TRUE(audit.has(NetworkEvent::Kind::resolve, false, "no rule allows this name"));
}

TEST(Network, TlsIsTheHostsAndAlwaysChecked) {
  const LoopbackServer server(Speaks::https);
  const std::string code = with_port(R"(
import ssl, urllib.request
try:
    print(urllib.request.urlopen("https://localhost:PORT/x").read().split()[:2])
except OSError as error:
    print(type(error.reason).__name__, error.reason.reason)
unchecked = ssl._create_unverified_context()
try:
    print(urllib.request.urlopen("https://127.0.0.1:PORT/x", context=unchecked).read()[:3])
except OSError as error:
    print(error.reason.verify_message)
)",
                                     server.port());
  const auto trusting = make_sandbox(
      {.network = {.allow = {server.rule()}, .trusted_certificates = server.authority()}});
  const RunResult good = run_python(*trusting, code);
  EXPECT_EQ(good.stdout_data, "[b'GET', b'/x']\nIP address mismatch\n") << good.stderr_data;
  const LoopbackServer somebody(Speaks::https);
  const auto doubting = make_sandbox(
      {.network = {.allow = {server.rule()}, .trusted_certificates = somebody.authority()}});
  const RunResult bad = run_python(*doubting, code);
  EXPECT_NE(bad.stdout_data.find("SSLCertVerificationError CERTIFICATE_VERIFY_FAILED\n"),
            std::string::npos)
      << bad.stdout_data << bad.stderr_data;
}

TEST(Network, StreamsOfAsyncioRunInParallel) {
  const LoopbackServer server(Speaks::https);
  const auto sandbox = make_sandbox(
      {.network = {.allow = {server.rule()}, .trusted_certificates = server.authority()}});
  const RunResult result = run_python(*sandbox, with_port(R"(
import asyncio, ssl, time
context = ssl.create_default_context()
context.set_alpn_protocols(["http/1.1"])
async def fetch(i):
    reader, writer = await asyncio.open_connection("localhost", PORT, ssl=context)
    writer.write(f"GET /slow{i} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    data = await reader.read()
    tls = writer.get_extra_info("ssl_object")
    writer.close()
    return data.split()[0], tls.selected_alpn_protocol(), tls.version()
async def main():
    start = time.monotonic()
    answers = await asyncio.gather(*[fetch(i) for i in range(8)])
    print(set(answers), time.monotonic() - start < 8 * 0.2)
asyncio.run(main())
)",
                                                          server.port()));
  EXPECT_EQ(result.stdout_data, "{(b'HTTP/1.1', 'http/1.1', 'TLSv1.3')} True\n")
      << result.stderr_data;
}

TEST(Network, LargeBodiesArriveWhole) {
  const LoopbackServer server(Speaks::https);
  const auto sandbox = make_sandbox(
      {.network = {.allow = {server.rule()}, .trusted_certificates = server.authority()}});
  const RunResult result = run_python(*sandbox, with_port(R"(
import urllib.request
print(len(urllib.request.urlopen("https://localhost:PORT/big?5000000").read()))
)",
                                                          server.port()));
  EXPECT_EQ(result.stdout_data, "5000000\n") << result.stderr_data;
}

TEST(Network, LimitsAreKept) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make_sandbox(
      {.network = {.allow = {server.rule()}, .max_connections = 2, .max_bytes = 1'000'000}});
  const RunResult result = run_python(*sandbox, with_port(R"(
import http.client, socket
kept = [socket.create_connection(("localhost", PORT)) for _ in range(2)]
try:
    socket.create_connection(("localhost", PORT))
except PermissionError:
    print("two at a time")
for one in kept:
    one.close()
connection = http.client.HTTPConnection("localhost", PORT)
try:
    for _ in range(100):
        connection.request("GET", "/big?100000")
        connection.getresponse().read()
    print("unlimited")
except (OSError, http.client.HTTPException):
    print("not more than that")
)",
                                                          server.port()));
  EXPECT_EQ(result.stdout_data, "two at a time\nnot more than that\n") << result.stderr_data;
}

TEST(Network, SecretsReachTheirHostsOnly) {
  const LoopbackServer server(Speaks::https);
  const LoopbackServer other(Speaks::http);
  const auto sandbox = make_sandbox(
      {.network = {.allow = {server.rule(), "127.0.0.1:" + std::to_string(other.port())},
                   .trusted_certificates = server.authority(),
                   .secrets = {{"API_KEY", {.value = "the real value", .hosts = {"localhost"}}}}}});
  const RunResult result = run_python(*sandbox, with_port(R"(
import http.client, os, ssl
key = os.environ["API_KEY"]
print("the real value" in key)
def ask(connection, body=None):
    connection.request("POST", "/", body=body, headers={"Authorization": "Bearer " + key, "X-Length": "1"})
    return b"the real value" in connection.getresponse().read()
connection = http.client.HTTPSConnection("localhost", PORT)
print(ask(connection), ask(connection), key.encode() in b"")
print(ask(http.client.HTTPConnection("127.0.0.1", )" + std::to_string(other.port()) +
                                                              R"()))
)",
                                                          server.port()));
  EXPECT_EQ(result.stdout_data, "False\nTrue True False\nFalse\n") << result.stderr_data;
}

TEST(Network, SecretsAreScrubbedFromWhatASessionSays) {
  const auto sandbox = make_sandbox(
      {.network = {.secrets = {{"API_KEY", {.value = "the real value", .hosts = {"localhost"}}}}}});
  PythonSession session(*sandbox);
  const ExecuteResult result = session.execute(
      "import os\nprint(os.environ['API_KEY'], 'the real value')\nos.environ['API_KEY']");
  EXPECT_EQ(result.stdout_data, "[API_KEY] [API_KEY]\n");
  EXPECT_EQ(result.result_repr, "'[API_KEY]'");
}

}  // namespace
}  // namespace cloche::testing
