// SPDX-License-Identifier: Apache-2.0
// Secrets of programs that speak TLS themselves: it ends in Cloche for their hosts, and for no other.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cloche/archive.h"
#include "cloche/live_run.h"
#include "secrets_testing.h"

namespace cloche::testing {
namespace {

using ::testing::HasSubstr;
using Speaks = LoopbackServer::Speaks;

class SecretsOfPrograms : public Secrets {
 protected:
  // Copies a program of this machine with its libraries into the sandbox. False: there is none.
  static bool bring(Sandbox& sandbox, const std::string& program) {
    const std::string command = fmt::format(
        "p=$(command -v {0}) || p={0}; [ -x \"$p\" ] && echo \"$p $(readlink -f \"$p\")\" && "
        "ldd \"$p\" | grep -o '/[^ ]*' | while read -r l; do echo \"$l $l\"; done",
        program);
    FILE* const list = ::popen(command.c_str(), "r");
    if (list == nullptr) return false;
    std::string text;
    std::array<char, 4096> piece{};
    for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), list)) > 0;)
      text.append(piece.data(), got);
    (void)::pclose(list);
    std::istringstream lines(text);
    std::string to, from;
    bool is_there = false;
    while (lines >> to >> from) {
      is_there = true;
      if (sandbox.files().stat(to)) continue;
      std::ifstream file(from, std::ios::binary);
      std::ostringstream content;
      content << file.rdbuf();
      EXPECT_TRUE(sandbox.files().write(to, content.str(), 0755)) << to;
    }
    return is_there;
  }

  // What a program sees whose TLS begins with this: the server's own certificate, or another's.
  static constexpr const char* look = R"(
def look(name, protocols=None):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if protocols: context.set_alpn_protocols(protocols)
    with context.wrap_socket(socket.create_connection(("localhost", port), 60), server_hostname=name) as s:
        s.sendall(f"GET /look HTTP/1.1\r\nHost: localhost\r\nX: {key}\r\nConnection: close\r\n\r\n".encode())
        s.recv(65536)
        der = s.getpeercert(True)
        return "host's" if b"authority of a test" in der else "ours" if b"authority of this sandbox" in der else der
)";
};

TEST_P(SecretsOfPrograms, OtherHostsAreEndToEnd) {
  LoopbackServer server(Speaks::https);
  auto sandbox = make_sandbox(with_secret({&server}));
  EXPECT_EQ(python(*sandbox, std::string(look) + R"(
print(look("localhost"), look("LocalHost"))
)",
                   server.port()),
            "ours ours\n");
  EXPECT_TRUE(server.has_heard(value));

  // Where nobody has a secret, and where what the program says is no name that has.
  LoopbackServer other(Speaks::https);
  EXPECT_EQ(python(*make_sandbox(with_secret({&other})), std::string(look) + R"(
for name in None, "127.0.0.1", "evil.example", "localhost.evil.example", "xlocalhost":
    print(look(name))
)",
                   other.port()),
            "host's\nhost's\nhost's\nhost's\nhost's\n");
  SandboxOptions elsewhere = with_secret({&other});
  elsewhere.network.secrets.at("API_KEY").hosts = {"api.example.com", "*.localhost"};
  EXPECT_EQ(python(*make_sandbox(elsewhere), std::string(look) + "print(look('localhost'))",
                   other.port()),
            "host's\n");
  EXPECT_TRUE(other.has_heard("cloche-secret-"));
  EXPECT_FALSE(other.has_heard(value));
}

TEST_P(SecretsOfPrograms, ANameThatIsDeniedIsNone) {
  LoopbackServer server(Speaks::https);
  SandboxOptions options = with_secret({&server});
  options.network.secrets.at("API_KEY").hosts = {"*"};
  auto sandbox = make_sandbox(options);
  // It has led nowhere.
  EXPECT_EQ(python(*sandbox, std::string(look) + "print(look('api.example.com'))", server.port()),
            "host's\n");
  EXPECT_FALSE(server.has_heard(value));
}

TEST_P(SecretsOfPrograms, TheValueIsNowhereInside) {
  LoopbackServer server(Speaks::https);
  server.serves("/page", "what everybody may read");
  const auto sandbox = make_sandbox(with_secret({&server}));
  ASSERT_TRUE(sandbox->files().write("/opt/found", value));  // what a search would find
  // What looks for it does not have it itself: it looks for other bytes in other bytes.
  std::string hidden;
  for (const char* c = value; *c != '\0'; ++c) hidden += fmt::format("{:02x}", *c ^ 0x5a);
  const std::string search = fmt::format(R"(
table, needle = bytes(i ^ 0x5a for i in range(256)), bytes.fromhex("{}")
def has(data): return needle in data.translate(table)
)",
                                         hidden) +
                             R"(
def in_memory(pid):
    count, found = 0, False
    for line in open(f"/proc/{pid}/maps"):
        place, rights, *rest = line.split()
        if "r" not in rights or "[v" in line: continue
        begin, end = (int(part, 16) for part in place.split("-"))
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            memory.seek(begin)
            try: data = memory.read(end - begin)
            except OSError: continue
        count += len(data)
        found |= has(data)
    return found, count > 1_000_000
def in_files():
    found = []
    for folder, folders, names in os.walk("/"):
        if folder == "/": folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and has(open(path, "rb").read()): found.append(path)
    return found
for i in range(3):
    print(get(f"https://localhost:{port}/page", X_Key=key))
print(in_memory("self"), in_files(), any(has(text.encode()) for text in os.environ.values()))
kept = os.environb[b"API_KEY"].translate(table)  # and what it does find
table, needle = bytes(i ^ 0x5a for i in range(256)), kept
print(in_memory("self"))
)";
  EXPECT_EQ(python(*sandbox, search, server.port()),
            "b'what everybody may read'\nb'what everybody may read'\nb'what everybody may read'\n"
            "(False, True) ['/opt/found'] False\n(True, True)\n");
  EXPECT_TRUE(server.has_heard(fmt::format("X-Key: {}", value)));
}

TEST_P(SecretsOfPrograms, HttpTwoAloneIsRefusedInWords) {
  LoopbackServer server(Speaks::https);
  auto sandbox = make_sandbox(with_secret({&server}));
  EXPECT_EQ(python(*sandbox, std::string(look) + R"(
print(look("localhost", ["h2", "http/1.1"]), look("localhost", ["http/1.1"]))
for protocols in ["h2"], ["h2", "http/1.0"], ["x"]:
    try:
        print(look("localhost", protocols))
    except ssl.SSLError as error:
        print("tlsv1 alert no application protocol" in str(error))
print(look("other.example", ["h2"]))
)",
                   server.port()),
            "ours ours\nTrue\nTrue\nTrue\nhost's\n");
  sandbox.reset();
  EXPECT_TRUE(has_event(NetworkEvent::Kind::tls, false, "speaks no HTTP/1.1"));
}

TEST_P(SecretsOfPrograms, AProgramThatDoesNotTrustInItSaysSo) {
  LoopbackServer server(Speaks::https);
  auto sandbox = make_sandbox(with_secret({&server}));
  ASSERT_TRUE(sandbox->files().write("own.pem", server.authority()));
  EXPECT_EQ(python(*sandbox, R"(
try:
    urllib.request.urlopen(f"https://localhost:{port}/", context=ssl.create_default_context(cafile="own.pem"))
except OSError as error:
    print(error.reason.reason)
)",
                   server.port()),
            "CERTIFICATE_VERIFY_FAILED\n");
  EXPECT_FALSE(server.has_heard("GET"));
  sandbox.reset();
  EXPECT_TRUE(has_event(NetworkEvent::Kind::tls, false, "does not take this sandbox's authority"));
}

// What a guest says may be anything, and none of it holds up others.
TEST_P(SecretsOfPrograms, NonsenseAndSilenceEnd) {
  LoopbackServer server(Speaks::https);
  SandboxOptions options = with_secret({&server});
  options.network.connect_timeout = std::chrono::milliseconds(700);
  auto sandbox = make_sandbox(options);
  EXPECT_EQ(python(*sandbox, R"(
import random, threading
chance = random.Random(1)
def connect(): return socket.create_connection(("localhost", port), 60)
def ends(s):
    try:
        while s.recv(65536): pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
context = ssl.create_default_context()
incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
try: context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
except ssl.SSLWantReadError: pass
hello = outgoing.read()
silent = [connect() for _ in range(20)]  # parts of a greeting, and no more
for i, s in enumerate(silent): s.sendall(hello[:1 + i * len(hello) // 21])
greeted = [connect() for _ in range(20)]  # all of it, and no more
for s in greeted: s.sendall(hello)
rubbish = []
for i in range(40):
    s = connect()
    try:
        s.sendall(hello[:chance.randrange(len(hello))] + chance.randbytes(chance.randrange(3000)))
        if i % 2: s.shutdown(socket.SHUT_WR)
        s.sendall(b"\x16\x03\x01" + chance.randbytes(20_000))
    except OSError: pass
    rubbish.append(s)
for i in range(20):  # behind a good greeting
    s = context.wrap_socket(connect(), server_hostname="localhost")
    raw = socket.socket(fileno=s.detach())
    raw.sendall(chance.randbytes(1000))
    raw.settimeout(60)
    rubbish.append(raw)
print(get(f"https://localhost:{port}/a", X=key)[:3])
print(all(ends(s) for s in silent + greeted))
for s in rubbish: s.close()
print(get(f"https://localhost:{port}/a", X=key)[:3])
)",
                   server.port()),
            "b'GET'\nTrue\nb'GET'\n");
  sandbox.reset();
  EXPECT_TRUE(has_event(NetworkEvent::Kind::tls, false, "TLS was not agreed on within 700 ms"));
}

TEST_P(SecretsOfPrograms, LargeBodiesGoBothWays) {
  LoopbackServer server(Speaks::https);
  const auto sandbox = make_sandbox(with_secret({&server}));
  EXPECT_EQ(python(*sandbox, R"(
print(len(get(f"https://localhost:{port}/big?5000000", X=key)))
request = urllib.request.Request(f"https://localhost:{port}/size", data=b"x" * 3_000_000)
print(urllib.request.urlopen(request, timeout=60).read())
# One that breaks off is told from one that ends.
for path, more in ("/end", "Connection: close\r\n"), ("/cut", ""):
    context = ssl.create_default_context()
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    s = context.wrap_socket(socket.create_connection(("localhost", port), 60), server_hostname="localhost", suppress_ragged_eofs=False)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode())
    try:
        while s.recv(65536): pass
        print("an end")
    except ssl.SSLError:
        print("broken off")
)",
                   server.port()),
            "5000000\nb'3000000\\n'\nan end\nbroken off\n");
}

TEST_P(SecretsOfPrograms, LimitsAreKept) {
  LoopbackServer server(Speaks::https);
  SandboxOptions options = with_secret({&server});
  options.network.max_connections = 2;
  options.network.max_bytes = 1'000'000;
  const auto sandbox = make_sandbox(options);
  EXPECT_EQ(python(*sandbox, R"(
kept = [socket.create_connection(("localhost", port)) for _ in range(2)]
try: get(f"https://localhost:{port}/", X=key)
except OSError as error: print(type(error.reason).__name__)
kept.pop().close()
def at_last(path):
    while True:
        try: return len(get(f"https://localhost:{port}{path}", X=key))
        except OSError as error:
            if not isinstance(getattr(error, "reason", error), PermissionError): raise
print(at_last("/big?100000"))
try:
    for _ in range(100): at_last("/big?100000")
    print("unlimited")
except (OSError, http.client.HTTPException):
    print("not more than that")
)",
                   server.port()),
            "PermissionError\n100000\nnot more than that\n");
}

TEST_P(SecretsOfPrograms, ARuleThatIsTakenBackEndsThem) {
  LoopbackServer server(Speaks::https);
  const auto sandbox = make_sandbox(with_secret({&server}));
  LiveRunOptions live;
  live.command.argv = {"python3", "-c",
                       fmt::format(R"(
import socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("localhost", {}), 60), server_hostname="localhost", suppress_ragged_eofs=False)
print("open", flush=True)
try: print("end" if s.recv(1) == b"" else "data")
except OSError: print("lost")
)",
                                   server.port())};
  std::string said;
  std::mutex mutex;
  live.command.output = [&](Stream, std::string_view data) {
    const std::lock_guard lock(mutex);
    said += data;
    if (said == "open\n") sandbox->set_network_rules({});
  };
  EXPECT_EQ(sandbox->start(std::move(live))->wait().exit_code, 0);
  EXPECT_EQ(said, "open\nlost\n");
}

TEST_P(SecretsOfPrograms, FilesAndVariablesNameTheAuthority) {
  LoopbackServer server(Speaks::https);
  const auto plain = make_sandbox();
  EXPECT_EQ(
      plain->run({.script = "echo $SSL_CERT_FILE$NODE_EXTRA_CA_CERTS; ls /etc/ssl"}).stdout_data,
      "\n");
  SandboxOptions options = with_secret({&server});
  options.environment = {{"NODE_EXTRA_CA_CERTS", "/opt/own.pem"}};
  const auto sandbox = make_sandbox(options);
  const RunResult seen = sandbox->run({.script = R"(
echo $SSL_CERT_FILE $CURL_CA_BUNDLE $REQUESTS_CA_BUNDLE $GIT_SSL_CAINFO $PIP_CERT $NODE_EXTRA_CA_CERTS $DENO_CERT
cd /etc/ssl/certs; ls | sed 's/^[0-9a-f]\{8\}\./HASH./'; readlink *.0; stat -c %a ca-certificates.crt
)"});
  EXPECT_EQ(
      seen.stdout_data,
      "/etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt "
      "/etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt "
      "/etc/ssl/certs/ca-certificates.crt /opt/own.pem "
      "/usr/local/share/ca-certificates/cloche-sandbox.crt\n"
      "HASH.0\nca-certificates.crt\n/usr/local/share/ca-certificates/cloche-sandbox.crt\n644\n")
      << seen.stderr_data;
  // Without the variables: the folder that OpenSSL looks into.
  EXPECT_EQ(python(*sandbox, R"(
for name in list(os.environ):
    if "CERT" in name or "CA" in name: del os.environ[name]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.load_verify_locations(capath="/etc/ssl/certs")
print(urllib.request.urlopen(f"https://localhost:{port}/", context=context, timeout=60).status)
)",
                   server.port()),
            "200\n");
}

TEST_P(SecretsOfPrograms, AuthoritiesThatAreThereStay) {
  LoopbackServer server(Speaks::https);
  LoopbackServer other(Speaks::https);
  SandboxOptions options = with_secret({&server, &other});
  options.network.secrets.at("API_KEY").hosts = {"localhost"};
  const auto first = make_sandbox();
  // As an image may have it: a bundle that is a link, and a variable that names another.
  const RunResult laid = first->run({.script = R"(
mkdir -p /etc/ssl/certs /opt/own; ln -s /opt/own/all.pem /etc/ssl/certs/ca-certificates.crt
)"});
  ASSERT_EQ(laid.exit_code, 0) << laid.stderr_data;
  ASSERT_TRUE(first->files().write("/opt/own/all.pem", other.authority()));
  ASSERT_TRUE(first->files().write("/opt/own/more.pem", other.authority()));
  auto state = export_state(*first, room);
  ASSERT_TRUE(state);
  options.environment = {{"CURL_CA_BUNDLE", "/opt/own/more.pem"}};
  auto made = import_state(engine(), of_engine(options), *state);
  ASSERT_TRUE(made) << made.error().sentence();
  const RunResult seen = (*made)->run({.script = R"(
readlink /etc/ssl/certs/ca-certificates.crt
grep -c BEGIN /opt/own/all.pem $SSL_CERT_FILE; grep -c Cloche /opt/own/all.pem
)"});
  EXPECT_EQ(seen.stdout_data,
            "/opt/own/all.pem\n/opt/own/all.pem:2\n/etc/ssl/certs/ca-certificates.crt:2\n1\n")
      << seen.stderr_data;
  EXPECT_EQ(python(**made, std::string(look) + R"(
print(len(get(f"https://localhost:{port}/", X=key)) > 0)
context = ssl.create_default_context()  # and whom it trusted in before
context.check_hostname = False
s = context.wrap_socket(socket.create_connection(("127.0.0.1", other), 60))
print(("commonName", "authority of a test") in s.getpeercert()["issuer"][0])
)",
                   server.port(), other.port()),
            "True\nTrue\n");
}

TEST_P(SecretsOfPrograms, StatesAndImagesHaveNoneOfTheirVariables) {
  LoopbackServer server(Speaks::https);
  const auto sandbox = make_sandbox(with_secret({&server}))->fork();
  sandbox->set_environment("WORD", "kept");
  sandbox->set_environment("PIP_CERT", "/opt/chosen.pem");
  const char* show =
      "echo $WORD-$API_KEY-$SSL_CERT_FILE-$REQUESTS_CA_BUNDLE-$NODE_EXTRA_CA_CERTS-$PIP_CERT";
  const auto state = export_state(*sandbox, room);
  ASSERT_TRUE(state);
  const auto again = import_state(engine(), of_engine(), *state);
  ASSERT_TRUE(again) << again.error().sentence();
  EXPECT_EQ((*again)->run({.script = show}).stdout_data, "kept-----/opt/chosen.pem\n");
  const auto committed = sandbox->commit_image("of-a-secret");
  ASSERT_TRUE(committed) << committed.error().sentence();
  SandboxOptions options = of_engine(with_secret({&server}));
  options.image = "of-a-secret";
  const auto with = engine().create(options);
  EXPECT_EQ(
      python(*with, "print(len(get(f'https://localhost:{port}/', X=key)) > 0)", server.port()),
      "True\n");
  EXPECT_TRUE(server.has_heard(fmt::format("X: {}", value)));
  EXPECT_EQ(with->run({.script = "grep -c BEGIN $SSL_CERT_FILE"}).stdout_data, "1\n");
  options.network = {};
  EXPECT_EQ(engine().create(options)->run({.script = show}).stdout_data,
            "kept-----/opt/chosen.pem\n");
}

TEST_P(SecretsOfPrograms, FoldersOfTheHostAreLeftAlone) {
  std::string folder = (std::filesystem::temp_directory_path() / "cloche-trust-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  SandboxOptions options = with_secret({});
  options.mounts = {{.host_path = folder, .guest_path = "/etc/ssl"}};
  try {
    (void)make_sandbox(options);
    ADD_FAILURE() << "it was made";
  } catch (const Error& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("where something of the host is mounted"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST_P(SecretsOfPrograms, CurlAndGitWork) {
  LoopbackServer server(Speaks::https);
  server.serves("/repo/info/refs?service=git-upload-pack",
                "1234567890123456789012345678901234567890\trefs/heads/main\n");
  server.serves("/repo/HEAD", "ref: refs/heads/main\n");
  const auto sandbox = make_sandbox(with_secret({&server}));
  const bool has_git =
      bring(*sandbox, "git") && bring(*sandbox, "/usr/lib/git-core/git-remote-https");
  if (!bring(*sandbox, "curl") || !has_git) GTEST_SKIP() << "this machine has no curl, or no git";
  const std::string port = std::to_string(server.port());
  const RunResult result = sandbox->run({.script = R"(
curl -sS -H "X-Curl: $API_KEY" https://localhost:$PORT/a | head -1
curl -sS -o /dev/null -o /dev/null -w '%{http_version} %{http_code} %{ssl_verify_result}\n' https://localhost:$PORT/a https://localhost:$PORT/b
curl -sSk https://127.0.0.1:$PORT/e2e | head -1
export GIT_EXEC_PATH=/usr/lib/git-core
git -c http.extraHeader="X-Git: $API_KEY" ls-remote https://localhost:$PORT/repo
)",
                                         .environment = {{"PORT", port}}});
  EXPECT_EQ(result.stdout_data,
            "GET /a HTTP/1.1\r\n1.1 200 0\n1.1 200 0\nGET /e2e HTTP/1.1\r\n"
            "1234567890123456789012345678901234567890\tHEAD\n"
            "1234567890123456789012345678901234567890\trefs/heads/main\n")
      << result.stderr_data;
  EXPECT_TRUE(server.has_heard(fmt::format("X-Curl: {}", value)));
  EXPECT_TRUE(server.has_heard(fmt::format("X-Git: {}", value)));
}

INSTANTIATE_TEST_SUITE_P(Engines, SecretsOfPrograms,
                         ::testing::Values(cloche::EngineKind::native_linux),
                         [](const auto&) { return std::string("linux"); });

}  // namespace
}  // namespace cloche::testing
