// SPDX-License-Identifier: Apache-2.0
// Secrets of the network: values that the host puts into requests to their hosts, and guests never
// have. Against servers on the loopback of this machine.
#include <gmock/gmock.h>

#include "cloche/archive.h"
#include "cloche/live_run.h"
#include "secrets_testing.h"

namespace cloche::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Speaks = LoopbackServer::Speaks;

TEST_P(Secrets, ReachTheirHostOverTlsAndPlainly) {
  LoopbackServer tls(Speaks::https);
  LoopbackServer plain(Speaks::http);
  auto sandbox = make_sandbox(with_secret({&tls, &plain}));
  EXPECT_EQ(python(*sandbox, R"(
import base64
print(key.startswith("cloche-secret-"), len(key))
for server in f"https://localhost:{port}", f"http://localhost:{other}":
    answer = get(server + "/a", Authorization="Bearer " + key)
    print(answer.split()[:2], key.encode() in answer)
connection = http.client.HTTPSConnection("localhost", port, timeout=60)
for i in range(3):  # each request of a connection
    connection.request("POST", f"/{i}", body=b"x" * 100_000 * i, headers={"X-Key": key})
    print(key.encode() in connection.getresponse().read())
basic = base64.b64encode(b"user:" + key.encode()).decode()
get(f"https://localhost:{port}/basic", Authorization="Basic " + basic)
)",
                   tls.port(), plain.port()),
            "True 62\n[b'GET', b'/a'] False\n[b'GET', b'/a'] False\nFalse\nFalse\nFalse\n");
  EXPECT_TRUE(tls.has_heard(fmt::format("Bearer {}", value)));
  EXPECT_TRUE(tls.has_heard(fmt::format("X-Key: {}", value)));
  EXPECT_TRUE(tls.has_heard("dXNlcjp0aGUtcmVhbC12YWx1ZS1vZi1pdA=="));
  EXPECT_TRUE(plain.has_heard(fmt::format("Bearer {}", value)));
  EXPECT_FALSE(tls.has_heard("cloche-secret-"));
  sandbox.reset();  // the last events have been told then
  EXPECT_TRUE(has_event(NetworkEvent::Kind::tls, true, "the certificate is good"));
  EXPECT_TRUE(has_event(NetworkEvent::Kind::secret, true, "API_KEY"));
  EXPECT_FALSE(has_event(NetworkEvent::Kind::secret, false, ""));
}

TEST_P(Secrets, GoNowhereElse) {
  LoopbackServer tls(Speaks::https);
  LoopbackServer plain(Speaks::http);
  tls.serves("/moved", "");
  auto sandbox = make_sandbox(with_secret({&tls, &plain}));
  EXPECT_EQ(python(*sandbox, R"(
# By an address, and where a redirect leads.
get(f"http://127.0.0.1:{other}/by-address", Authorization="Bearer " + key)
get(f"https://localhost:{port}/to?http://127.0.0.1:{other}/moved", X_Key=key)
# Not in a body.
connection = http.client.HTTPSConnection("localhost", port, timeout=60)
connection.request("POST", "/body", body=key)
connection.getresponse().read()
# What is for another host, or could be read so, and what two could read in two ways.
heads = [
    "GET /1 HTTP/1.1\r\nHost: evil.example\r\nX: KEY\r\n\r\n",
    "GET /2 HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nX: KEY\r\n\r\n",
    "GET /3 HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\nX: KEY\r\n\r\n",
    "GET /4 HTTP/1.1\r\nX: KEY\r\n\r\n",
    "GET http://evil.example/5 HTTP/1.1\r\nHost: localhost\r\nX: KEY\r\n\r\n",
    "GET https://localhost/6 HTTP/1.1\r\nHost: localhost\r\nX: KEY\r\n\r\n",
    "GET /7 HTTP/1.1\r\nHost: local\r\n host\r\nX: KEY\r\n\r\n",
    "GET /8 HTTP/1.1\r\nHost: localhost\r\nX: a\r\n KEY\r\n\r\n",
    "GET /9 HTTP/1.1\nHost: localhost\nX: KEY\n\n\r\n\r\n",
    "GET /10 HTTP/1.1\r\nHost : localhost\r\nX: KEY\r\n\r\n",
    "GET /11 HTTP/1.1\r\nHost: localhost@evil.example\r\nX: KEY\r\n\r\n",
    "GET /12 HTTP/1.1\r\nHost: localhost, evil.example\r\nX: KEY\r\n\r\n",
    "GET /13 HTTP/1.1\r\nHost: localhost.evil.example\r\nX: KEY\r\n\r\n",
    "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\nX: KEY\r\n\r\n",
    "GET /14 HTTP/2.0\r\nHost: localhost\r\nX: KEY\r\n\r\n",
    # A second request behind one whose end is not sure.
    "POST /15 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"
    "GET /16 HTTP/1.1\r\nHost: localhost\r\nX: KEY\r\n\r\n",
    "POST /17 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
    "GET /18 HTTP/1.1\r\nHost: localhost\r\nX: KEY\r\n\r\n",
    "POST /19 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"
    "GET /20 HTTP/1.1\r\nHost: localhost\r\nX: KEY\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nKEY",
]
for head in heads:
    s = ssl.create_default_context().wrap_socket(socket.create_connection(("localhost", port), 60), server_hostname="localhost")
    s.sendall((head.replace("KEY", key) + "GET /end HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").encode())
    while s.recv(65536):
        pass
    s.close()
print(len(heads))
)",
                   tls.port(), plain.port()),
            "19\n");
  EXPECT_TRUE(plain.has_heard("GET /by-address"));
  EXPECT_TRUE(plain.has_heard("GET /moved"));
  EXPECT_TRUE(plain.has_heard("cloche-secret-"));
  EXPECT_FALSE(plain.has_heard(value));
  EXPECT_TRUE(tls.has_heard("GET /1 "));
  EXPECT_TRUE(tls.has_heard("GET /16 "));
  // The redirect itself was the host's own.
  const std::string moved = "GET /to?http://127.0.0.1";
  EXPECT_TRUE(tls.has_heard(moved));
  sandbox.reset();
  EXPECT_TRUE(has_event(NetworkEvent::Kind::secret, false, "API_KEY"));
}

TEST_P(Secrets, AreScrubbedFromAllThatIsWritten) {
  const LoopbackServer server(Speaks::http);
  const auto sandbox = make_sandbox(with_secret({&server}));
  // The server says what it got, and bash writes it in two pieces, so that no piece has the value.
  const std::string script =
      fmt::format("exec 3<>/dev/tcp/localhost/{}\n", server.port()) +
      "printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\nX: %s\\r\\n\\r\\n' "
      "\"$API_KEY\" >&3\n"
      "answer=$(tr -d '\\r' <&3 | grep '^X: ')\n"
      "printf %s \"${answer:0:9}\"; printf '%s\\n' \"${answer:9}\"\n"
      "printf %s \"${answer:0:9}\" >&2; printf '%s\\n' \"${answer:9}\" >&2\n"
      "echo $API_KEY";
  const std::string clean = "X: [API_KEY]\n[API_KEY]\n";
  for (const ShellState shell : {ShellState::fresh, ShellState::kept}) {
    const RunResult kept = sandbox->run({.script = script, .shell = shell});
    EXPECT_EQ(kept.stdout_data, clean);
    EXPECT_EQ(kept.stderr_data, "X: [API_KEY]\n");
    std::string out, err;
    const auto pass_on = [&](Stream stream, std::string_view data) {
      (stream == Stream::out ? out : err) += data;
    };
    (void)sandbox->run({.script = script, .shell = shell, .output = pass_on});
    EXPECT_EQ(out, clean);
    EXPECT_EQ(err, "X: [API_KEY]\n");
  }
  for (const bool has_terminal : {false, true}) {
    std::string shown;
    LiveRunOptions options;
    options.command.script = script;
    options.command.output = [&](Stream stream, std::string_view data) {
      if (stream == Stream::out) shown += data;
    };
    if (has_terminal) options.terminal = TerminalSize{};
    (void)sandbox->start(std::move(options))->wait();
    EXPECT_EQ(shown, has_terminal ? "X: [API_KEY]\r\nX: [API_KEY]\r\n[API_KEY]\r\n" : clean);
  }
  // One that a limit cuts off shows no beginning of it either.
  RunOptions cut;
  cut.script = "printf 'it is %s' the-real-value-of-it";
  cut.output_limit_bytes = 14;
  EXPECT_EQ(sandbox->run(cut).stdout_data, "it is ");
  EXPECT_EQ(sandbox->run_python("import os\nprint(os.environ['API_KEY'])").stdout_data,
            "[API_KEY]\n");

  PythonSession session = new_session({}, with_secret({&server}));
  EXPECT_EQ(value_of(session, "import os\nos.environ['API_KEY']"), "'[API_KEY]'");
  EXPECT_EQ(printed(session, "print(os.environ['API_KEY'], 'the-real-' + 'value-of-it')"),
            "[API_KEY] [API_KEY]\n");
  std::string said;
  ExecuteOptions options;
  options.output = [&](Stream, std::string_view data) { said += data; };
  (void)session.execute(
      "import sys\nfor c in 'the-real-value-of-it the-':\n"
      "    sys.stdout.write(c); sys.stdout.flush()",
      options);
  EXPECT_EQ(said, "[API_KEY] the-");
}

TEST_P(Secrets, ProcessesAndEventsShowNone) {
  const auto sandbox = make_sandbox(with_secret({}));
  std::mutex mutex;
  std::vector<std::string> texts;
  sandbox->observe({.run = [&](const RunEvent& event) {
    const std::lock_guard lock(mutex);
    texts.emplace_back(event.text);
  }});
  LiveRunOptions options;
  options.command.argv = {"bash", "-c", "read line; : the-real-value-of-it"};
  const auto live = sandbox->start(std::move(options));
  ASSERT_NE(live->pid(), 0);
  std::string commands;
  for (const ProcessInfo& process : sandbox->processes()) commands += process.command + "\n";
  EXPECT_THAT(commands, HasSubstr(": [API_KEY]"));
  EXPECT_THAT(commands, Not(HasSubstr(value)));
  live->close_input();
  (void)live->wait();
  const std::lock_guard lock(mutex);
  EXPECT_THAT(texts, ::testing::Contains(HasSubstr(": [API_KEY]")));
}

TEST_P(Secrets, StayInForksWithTheLivePython) {
  LoopbackServer server(Speaks::https);
  const auto sandbox = make_sandbox(with_secret({&server}));
  const std::string ask = fmt::format(
      "import os, urllib.request\n"
      "def ask(path):\n"
      "    request = urllib.request.Request('https://localhost:{}' + path, headers={{'X-Key': "
      "os.environ['API_KEY']}})\n"
      "    return urllib.request.urlopen(request, timeout=60).status\n"
      "print(ask('/parent'))\n",
      server.port());
  EXPECT_EQ(sandbox->run_python(ask).stdout_data, "200\n");
  const auto fork = sandbox->fork();
  const auto grandchild = fork->fork();
  EXPECT_EQ(fork->run_python("print(ask('/fork'))").stdout_data, "200\n");
  EXPECT_EQ(grandchild->run_python("print(ask('/grandchild'))").stdout_data, "200\n");
  EXPECT_EQ(python(*grandchild, "print(len(get(f'https://localhost:{port}/new', X_New=key)) > 0)",
                   server.port()),
            "True\n");
  EXPECT_EQ(sandbox->run_python("print(ask('/again'))").stdout_data, "200\n");
  for (const char* path : {"/parent", "/fork", "/grandchild", "/again"})
    EXPECT_TRUE(server.has_heard(fmt::format("GET {} ", path))) << path;
  EXPECT_TRUE(server.has_heard(fmt::format("X-New: {}", value)));
  EXPECT_FALSE(server.has_heard("cloche-secret-"));
}

TEST_P(Secrets, WorkInASandboxThatWasMadeOfAState) {
  LoopbackServer server(Speaks::https);
  auto sandbox = make_sandbox(with_secret({&server}));
  sandbox->run({.script = "echo kept >file"});
  for (int i = 0; i < 3; ++i) {
    auto state = export_state(*sandbox, room);
    ASSERT_TRUE(state) << state.error().sentence();
    auto again = import_state(engine(), of_engine(with_secret({&server})), *state);
    ASSERT_TRUE(again) << again.error().sentence();
    sandbox = *std::move(again);
    EXPECT_EQ(
        python(*sandbox, "print(len(get(f'https://localhost:{port}/', X=key)) > 0)", server.port()),
        "True\n");
  }
  EXPECT_EQ(sandbox->run({.script = "cat file"}).stdout_data, "kept\n");
  EXPECT_TRUE(server.has_heard(fmt::format("X: {}", value)));
  EXPECT_FALSE(server.has_heard("cloche-secret-"));
  if (!is_linux()) return;
  EXPECT_EQ(
      sandbox->run({.script = "grep -c BEGIN $SSL_CERT_FILE $NODE_EXTRA_CA_CERTS"}).stdout_data,
      "/etc/ssl/certs/ca-certificates.crt:1\n"
      "/usr/local/share/ca-certificates/cloche-sandbox.crt:1\n");
}

TEST_P(Secrets, AServerWhoseCertificateIsNotGoodGetsNone) {
  LoopbackServer server(Speaks::https);
  const LoopbackServer somebody(Speaks::https);
  SandboxOptions options = with_secret({&server});
  options.network.trusted_certificates = somebody.authority();
  auto sandbox = make_sandbox(options);
  const std::string said = python(*sandbox, R"(
for unchecked in False, True:
    context = ssl._create_unverified_context() if unchecked else ssl.create_default_context()
    try:
        s = context.wrap_socket(socket.create_connection(("localhost", port), 60), server_hostname="localhost")
        s.sendall(f"GET / HTTP/1.1\r\nHost: localhost\r\nX: {key}\r\n\r\n".encode())
        print(s.recv(100))
    except OSError as error:
        print(type(error).__name__, getattr(error, "reason", error))
)",
                                  server.port());
  EXPECT_EQ(said,
            is_linux()
                ? "SSLError SSLV3_ALERT_BAD_CERTIFICATE\nSSLError SSLV3_ALERT_BAD_CERTIFICATE\n"
                : "SSLCertVerificationError CERTIFICATE_VERIFY_FAILED\n"
                  "SSLCertVerificationError CERTIFICATE_VERIFY_FAILED\n");
  EXPECT_FALSE(server.has_heard("GET"));
  sandbox.reset();
  EXPECT_TRUE(has_event(NetworkEvent::Kind::tls, false, "certificate verify failed"));
}

TEST_P(Secrets, ManyConnectionsAtOnce) {
  LoopbackServer server(Speaks::https);
  SandboxOptions options = with_secret({&server});
  options.network.max_connections = 128;
  const auto sandbox = make_sandbox(options);
  EXPECT_EQ(python(*sandbox, R"(
import asyncio
context = ssl.create_default_context()
async def fetch(i):
    reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
    body = b"z" * (i % 5 * 50_000)
    head = f"POST /{i} HTTP/1.1\r\nHost: localhost\r\nX-Key-{i}: {key}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    return answer.split()[1], answer.count(b"z") == len(body)
async def main():
    return await asyncio.gather(*[fetch(i) for i in range(100)])
print(set(asyncio.run(main())))
)",
                   server.port()),
            "{(b'200', True)}\n");
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(server.has_heard(fmt::format("X-Key-{}: {}\r", i, value))) << i;
  EXPECT_FALSE(server.has_heard("cloche-secret-"));
}

CLOCHE_ON_EACH_ENGINE(Secrets);

}  // namespace
}  // namespace cloche::testing
