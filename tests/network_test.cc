// SPDX-License-Identifier: Apache-2.0
// The network of a sandbox, against servers on the loopback of this machine that the policy names.
#include <algorithm>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

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

TEST(Network, NetcatListensAndConnectsWithinASandbox) {
  const auto sandbox = make_sandbox();
  const RunResult result = sandbox->run({.script = R"(
until_open() { for i in $(seq 200); do nc -z 127.0.0.1 $1 2>&1 && return; sleep 0.05; done; }
python3 -m http.server 7001 --bind 127.0.0.1 >/dev/null 2>&1 & until_open 7001 >/dev/null
nc -zv 127.0.0.1 7001 2>&1
printf 'HEAD / HTTP/1.0\r\n\r\n' | nc -N localhost 7001 | head -1 | tr -d '\r'
kill $!; wait
nc -z 127.0.0.1 7001 2>/dev/null; echo "closed: $?"
echo lost | nc -u -q 0 127.0.0.1 7002; echo "datagram: $?"
nc -l 7003 >got & listener=$!
until echo sent | nc -q 0 127.0.0.1 7003 2>/dev/null; do sleep 0.05; done
wait $listener; cat got
)"});
  EXPECT_EQ(result.stdout_data,
            "Connection to 127.0.0.1 7001 port [tcp/*] succeeded!\nHTTP/1.0 200 OK\nclosed: 1\n"
            "datagram: 0\nsent\n")
      << result.reason << result.stderr_data;
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

TEST(Network, ADenialWinsOverEveryRuleThatAllows) {
  const LoopbackServer open(Speaks::http);
  const LoopbackServer closed(Speaks::http);
  const std::string port = ":" + std::to_string(closed.port());
  const std::string code = R"(
import socket
for host in "127.0.0.1", "localhost", "0.0.0.0":
    try:
        socket.create_connection((host, PORT), timeout=5)
        print("connected to", host)
    except ConnectionRefusedError:
        print("refused")
)";
  for (const std::string allow : {"localhost", "127.0.0.1", "0.0.0.0/0"}) {
    const auto opened = make_sandbox({.network = {.allow = {allow}}});
    EXPECT_TRUE(run_python(*opened, with_port(code, open.port()))
                    .stdout_data.starts_with("connected to 127.0.0.1\n"))
        << allow;
    for (const std::string& deny : {std::string("localhost"), "localhost" + port, std::string("*"),
                                    std::string("0.0.0.0/0")}) {
      const auto shut = make_sandbox({.network = {.allow = {allow}, .deny = {deny}}});
      const RunResult result = run_python(*shut, with_port(code, closed.port()));
      EXPECT_EQ(result.stdout_data, "refused\nrefused\nrefused\n")
          << allow << ", " << deny << ": " << result.stderr_data;
    }
  }
  EXPECT_EQ(closed.connections(), 0);
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
import asyncio
async def peer():
    reader, writer = await asyncio.open_connection("localhost", PORT, ssl=True)
    writer.write(b"GET /cut HTTP/1.0\r\n\r\n")
    whole = await reader.read()  # to the end, of which the server does not tell
    writer.close()
    return whole.split()[:2], writer.get_extra_info("peercert")
try:
    line, peer = asyncio.run(peer())
    print(line, ("DNS", "localhost") in peer["subjectAltName"], peer["version"], peer["notAfter"][-3:], peer["subject"][0][0][0])
except OSError:
    pass
)",
                                     server.port());
  const auto trusting = make_sandbox(
      {.network = {.allow = {server.rule()}, .trusted_certificates = server.authority()}});
  const RunResult good = run_python(*trusting, code);
  EXPECT_EQ(good.stdout_data,
            "[b'GET', b'/x']\nIP address mismatch\n[b'HTTP/1.1', b'200'] True 3 GMT commonName\n")
      << good.stderr_data;
  const LoopbackServer somebody(Speaks::https);
  const auto doubting = make_sandbox(
      {.network = {.allow = {server.rule()}, .trusted_certificates = somebody.authority()}});
  const RunResult bad = run_python(*doubting, code);
  EXPECT_NE(bad.stdout_data.find("SSLCertVerificationError CERTIFICATE_VERIFY_FAILED\n"),
            std::string::npos)
      << bad.stdout_data << bad.stderr_data;
}

// What comes of one TLS record, a byte now and then, is nothing yet.
TEST(Network, DropsThatBringNothingDoNotKeepAConnection) {
  LoopbackServer server(Speaks::https);
  server.serves("/drops", std::string(400, 'x'));
  const auto sandbox = make_sandbox({.network = {.allow = {server.rule()},
                                                 .idle_timeout = std::chrono::milliseconds(1000),
                                                 .trusted_certificates = server.authority()}});
  const RunResult result = run_python(*sandbox, with_port(R"(
import http.client
connection = http.client.HTTPSConnection("localhost", PORT)
try:
    connection.request("GET", "/drops")
    print(connection.getresponse().status)
except (OSError, http.client.HTTPException):
    print("ended")
)",
                                                          server.port()));
  EXPECT_EQ(result.stdout_data, "ended\n") << result.stderr_data;
  EXPECT_TRUE(server.has_heard("/drops"));
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

// A guest cannot hide what it does behind refusals that come faster than they are told.
TEST(Network, WhatTheAuditIsTooSlowForIsCounted) {
  std::promise<void> entered, go_on;
  std::mutex mutex;
  std::uint64_t told = 0, left_out = 0;
  const auto audit = [&, wait = go_on.get_future().share()](const NetworkEvent& event) {
    if (told + left_out == 0) entered.set_value();
    wait.wait();
    const std::lock_guard lock(mutex);
    (event.kind == NetworkEvent::Kind::left_out ? left_out : told) += event.count;
  };
  auto sandbox = make_sandbox({.network = {.allow = {"a.example"}, .audit = audit}});
  const auto connect = [&](const char* times) {
    return run_python(*sandbox, "import socket\nn = 0\nfor _ in range(" + std::string(times) +
                                    "):\n  with socket.socket() as s:\n    try:\n"
                                    "      s.connect(('10.0.0.1', 80))\n"
                                    "    except PermissionError:\n      n += 1\nprint(n)")
        .stdout_data;
  };
  EXPECT_EQ(connect("1"), "1\n");
  entered.get_future().wait();
  EXPECT_EQ(connect("6000"), "6000\n");
  go_on.set_value();
  sandbox.reset();
  EXPECT_EQ(told, 1U + 4096U);
  EXPECT_EQ(left_out, 6000U - 4096U);
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

TEST(Network, LibrariesOfHttpWorkOverTls) {
  const LoopbackServer server(Speaks::https);
  const auto sandbox = make_sandbox(
      {.network = {.allow = {server.rule(), "127.0.0.1:" + std::to_string(server.port())},
                   .trusted_certificates = server.authority()}});
  ASSERT_TRUE(sandbox->install_packages({"requests"}));
  const RunResult result = run_python(*sandbox, with_port(R"(
import asyncio, http.client, requests, ssl, threading, urllib.request, urllib3
url = "https://localhost:PORT"
with requests.Session() as session:
    for _ in range(3):
        answer = session.get(url + "/a", params={"q": "1"}, headers={"X-Own": "yes"})
    print(answer.status_code, answer.text.split()[:2], "X-Own: yes" in answer.text)
    print(session.post(url + "/p", json={"a": [1, None]}).text.rsplit("\n", 1)[1])
    moved = session.get(url + "/to?/after")
    print(moved.text.split()[1], [r.status_code for r in moved.history])
    print(session.post(url + "/size", data=b"x" * 3_000_000).text.strip())
    print(len(session.get(url + "/big?3000000").content))
    pools = session.adapters["https://"].poolmanager.pools
    print([(pool.num_connections, pool.num_requests) for pool in map(pools.get, pools.keys())])
    try:
        session.get(url + "/never", timeout=0.05)
    except requests.exceptions.ReadTimeout:
        print("ReadTimeout")
for wrong in "https://127.0.0.1:PORT/", "https://localhost:1/", "https://example.com/":
    try:
        print(requests.get(wrong, timeout=20))
    except requests.exceptions.RequestException as error:
        print(type(error).__name__, *(text for text in ("IP address mismatch", "not permitted by the network policy") if text in str(error)))
print(urllib3.PoolManager().request("GET", url + "/b").data.split()[:2])
connection = http.client.HTTPSConnection("localhost", PORT)
for size in 10, 200_000:
    connection.request("PUT", "/size", body=b"y" * size)
    print(connection.getresponse().read())
print(urllib.request.urlopen(urllib.request.Request(url + "/u", data=b"form", method="POST")).read()[-4:])
async def fetch(i):
    reader, writer = await asyncio.open_connection("localhost", PORT, ssl=ssl.create_default_context())
    body = b"z" * (i * 100_000)
    writer.write(b"POST /size HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return int(answer.split()[-1])
async def main():
    return await asyncio.gather(*[fetch(i) for i in range(6)])
print(asyncio.run(main()))
)",
                                                          server.port()));
  EXPECT_EQ(
      result.stdout_data,
      "200 ['GET', '/a?q=1'] True\n{\"a\": [1, null]}\n/after [302]\n3000000\n3000000\n[(1, 8)]\n"
      "ReadTimeout\nSSLError IP address mismatch\nConnectionError\n"
      "ConnectionError not permitted by the network policy\n[b'GET', b'/b']\nb'10\\n'\n"
      "b'200000\\n'\nb'form'\n[0, 100000, 200000, 300000, 400000, 500000]\n")
      << result.stderr_data;
}

TEST(Network, CurlAndWgetSpeakHttpAndTlsByTheHost) {
  const LoopbackServer plain(Speaks::http);
  const LoopbackServer server(Speaks::https);
  const auto sandbox = make_sandbox(
      {.environment = {{"PLAIN", "http://localhost:" + std::to_string(plain.port())},
                       {"TLS", "https://localhost:" + std::to_string(server.port())},
                       {"BY_ADDRESS", "https://127.0.0.1:" + std::to_string(server.port())}},
       .network = {.allow = {plain.rule(), server.rule()},
                   .trusted_certificates = server.authority(),
                   .secrets = {{"API_KEY", {.value = "real-value", .hosts = {"localhost"}}}}}});
  const RunResult result = sandbox->run({.script = R"(
curl -sS "$PLAIN/a" | head -1
curl -sSL "$PLAIN/to?$TLS/after" | head -1
curl -sS -X PUT -H 'X-Own: yes' -d one -d two "$TLS/p" | grep -o -e '^PUT.*' -e 'X-Own.*' -e 'one&two'
curl -sS --json '{"a":1}' "$TLS/j" | grep -o -e 'application/json' -e '{.*'
curl -s -o big -w '%{http_code} %{size_download} %{num_connects}\n' "$TLS/big?3000000"; wc -c <big
curl -sI "$TLS/" | head -1
curl -sfO "$PLAIN/name" && ls name
head -c 2000000 /dev/zero | curl -sS --data-binary @- "$TLS/size"
curl -s -u user:pw "$PLAIN/" | grep -o 'Basic.*'
curl -sS -k "$BY_ADDRESS/"; echo $?
curl -sS https://example.com/; echo $?
curl -sS --max-time 0.2 "$TLS/never"; echo $?
curl -sS -H "Authorization: Bearer $API_KEY" "$TLS/1" "$TLS/2" | grep -c 'Bearer real-value'
wget -q -O - --header 'X-Own: yes' "$TLS/w" | grep -e '^GET' -e X-Own
wget -q -P folder "$PLAIN/file" && cat folder/file | head -1
wget -q -c -O part "$PLAIN/big?1000" && wc -c <part
wget -S -O /dev/null "$TLS/s" 2>&1 | grep -o 'HTTP/1.1 200 OK' | head -1
wget -q --no-check-certificate -O - "$BY_ADDRESS/"; echo $?
)"});
  EXPECT_EQ(
      result.stdout_data,
      "GET /a HTTP/1.1\r\nGET /after HTTP/1.1\r\nPUT /p HTTP/1.1\r\nX-Own: yes\r\none&two\n"
      "application/json\napplication/json\n{\"a\":1}\n200 3000000 1\n3000000\nHTTP/1.1 200 OK\r\n"
      "name\n2000000\nBasic dXNlcjpwdw==\r\n60\n6\n28\n2\nGET /w HTTP/1.1\r\nX-Own: yes\r\n"
      "GET /file HTTP/1.1\r\n1000\nHTTP/1.1 200 OK\n5\n")
      << result.stderr_data;
  EXPECT_NE(result.stderr_data.find("the network policy of this sandbox does not permit it"),
            std::string::npos)
      << result.stderr_data;
}

TEST(Network, NodeSpeaksHttpAndTlsByTheHost) {
  const LoopbackServer plain(Speaks::http);
  const LoopbackServer server(Speaks::https);
  const auto sandbox = make_sandbox(
      {.environment = {{"PLAIN", "http://localhost:" + std::to_string(plain.port())},
                       {"TLS", "https://localhost:" + std::to_string(server.port())},
                       {"BY_ADDRESS", "https://127.0.0.1:" + std::to_string(server.port())}},
       .network = {.allow = {plain.rule(), server.rule()},
                   .trusted_certificates = server.authority(),
                   .secrets = {{"API_KEY", {.value = "real-value", .hosts = {"localhost"}}}}}});
  const RunResult result = sandbox->run({.script = R"(cat >a.mjs <<'END'
import https from 'node:https';
const { PLAIN, TLS, BY_ADDRESS, API_KEY } = process.env;
const first = async (answer) => (await answer.text()).split('\r\n')[0];
console.log(await first(await fetch(`${PLAIN}/a`)));
console.log(await first(await fetch(`${TLS}/b`, { method: 'POST', body: 'x' })));
console.log((await (await fetch(`${TLS}/c`, { headers: { authorization: `Bearer ${API_KEY}` } })).text()).includes('Bearer real-value'));
console.log((await (await fetch(`${TLS}/big?3000000`)).arrayBuffer()).byteLength);
await new Promise((resolve) => https.get(`${TLS}/d`, (answer) => {
  console.log(answer.statusCode, answer.socket.encrypted, answer.socket.authorized);
  answer.resume().on('end', resolve);
}));
await new Promise((resolve) => https.get(BY_ADDRESS, () => {}).on('error', (error) => {
  console.log(error.code);
  resolve();
}));
await fetch('https://example.com/').catch((error) => console.log(error.message, error.cause.code));
END
node a.mjs
)"});
  EXPECT_EQ(result.stdout_data,
            "GET /a HTTP/1.1\nPOST /b HTTP/1.1\ntrue\n3000000\n200 true true\n"
            "ERR_TLS_CERT_ALTNAME_INVALID\nfetch failed ENOTFOUND\n")
      << result.stderr_data;
}

TEST(Network, SecretsAreScrubbedFromWhatCommandsWrite) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make_sandbox(
      {.network = {.allow = {server.rule()},
                   .secrets = {{"API_KEY", {.value = "the real value", .hosts = {"localhost"}}}}}});
  // The server says what it got, and bash writes it in two pieces, so that no piece has the value.
  const std::string script = "exec 3<>/dev/tcp/localhost/" + std::to_string(server.port()) +
                             "\nprintf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: "
                             "close\\r\\nX: %s\\r\\n\\r\\n' \"$API_KEY\" >&3\n"
                             "answer=$(tr -d '\\r' <&3 | grep '^X: ')\n"
                             "printf %s \"${answer:0:9}\"; printf '%s\\n' \"${answer:9}\"\n"
                             "printf %s \"${answer:0:9}\" >&2; printf '%s\\n' \"${answer:9}\" >&2\n"
                             "echo $API_KEY";
  const std::string clean = "X: [API_KEY]\n[API_KEY]\n";
  for (const ShellState shell : {ShellState::fresh, ShellState::kept}) {
    const RunResult kept = sandbox->run({.script = script, .shell = shell});
    EXPECT_EQ(kept.stdout_data, clean);
    EXPECT_EQ(kept.stderr_data, "X: [API_KEY]\n");
    std::string out;
    std::string err;
    const auto pass_on = [&](Stream stream, std::string_view data) {
      (stream == Stream::out ? out : err) += data;
    };
    (void)sandbox->run({.script = script, .shell = shell, .output = pass_on});
    EXPECT_EQ(out, clean);
    EXPECT_EQ(err, "X: [API_KEY]\n");
  }
  std::string shown;
  const auto live =
      sandbox->start({.command = {.script = script,
                                  .output = [&](Stream, std::string_view data) { shown += data; }},
                      .terminal = TerminalSize{}});
  (void)live->wait();
  EXPECT_EQ(shown, "X: [API_KEY]\r\nX: [API_KEY]\r\n[API_KEY]\r\n");
  PythonSession session(*sandbox);
  std::string said;
  ExecuteOptions options;
  options.output = [&](Stream, std::string_view data) { said += data; };
  (void)session.execute("import os, sys\nos.write(1, b'the re')\nos.write(1, b'al value, the ')",
                        options);
  EXPECT_EQ(said, "[API_KEY], the ");
}

TEST(Network, RulesChangeWhileTheSandboxRuns) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make_sandbox();
  const std::string fetch = with_port(
      R"(
import http.client
try:
    c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=20)
    c.request("GET", "/")
    print(c.getresponse().status)
except OSError as error:
    print(type(error).__name__)
)",
      server.port());
  EXPECT_EQ(run_python(*sandbox, fetch).stdout_data, "ConnectionRefusedError\n");
  sandbox->set_network_rules({server.rule()});
  EXPECT_EQ(run_python(*sandbox, fetch).stdout_data, "200\n");
  EXPECT_EQ(sandbox->network_rules(), std::vector<std::string>{server.rule()});
  EXPECT_THROW(sandbox->set_network_rules({"no rule"}), Error);
  const auto fork = sandbox->fork();

  // A connection that was open ends when its rule is taken back.
  const std::string hold = with_port(
      R"(
import socket, sys
s = socket.create_connection(("127.0.0.1", PORT))
print("open", flush=True)
try:
    print("end" if s.recv(1) == b"" else "data")
except OSError as error:
    print("lost")
)",
      server.port());
  std::thread revoking;
  const RunResult held = sandbox->run({.argv = {"python3", "-c", hold},
                                       .timeout = std::chrono::milliseconds(60'000),
                                       .output = [&](Stream, std::string_view text) {
                                         if (text.starts_with("open"))
                                           revoking =
                                               std::thread([&] { sandbox->set_network_rules({}); });
                                       }});
  ASSERT_TRUE(revoking.joinable());
  revoking.join();
  EXPECT_EQ(held.status, RunStatus::exited);
  EXPECT_EQ(run_python(*sandbox, fetch).stdout_data, "ConnectionRefusedError\n");
  EXPECT_EQ(run_python(*fork, fetch).stdout_data, "200\n");
}

}  // namespace
}  // namespace cloche::testing
