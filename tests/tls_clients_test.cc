// SPDX-License-Identifier: Apache-2.0
// Clients over TLS by the host: Python's that wrap a socket, those that carry TLS's bytes themselves,
// and node's, which go over to TLS on a connection.
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "loopback_server_testing.h"
#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using Speaks = LoopbackServer::Speaks;

class TlsClients : public ::testing::Test {
 protected:
  std::unique_ptr<Sandbox> sandbox() const {
    return make_sandbox(
        {.network = {
             .allow = {server_.rule(), "127.0.0.1:" + std::to_string(server_.port())},
             .trusted_certificates = server_.authority(),
             .secrets = {{"API_KEY", {.value = "the real value", .hosts = {"localhost"}}}}}});
  }

  RunResult run(const std::vector<std::string>& packages, std::string code) {
    const auto sandbox = this->sandbox();
    EXPECT_TRUE(sandbox->install_packages(packages));
    code.insert(0, "import asyncio, os, socket, ssl\nport = " + std::to_string(server_.port()) +
                       "\nurl = f'https://localhost:{port}'\nkey = os.environ['API_KEY']\n");
    return sandbox->run(
        {.argv = {"python3", "-c", code}, .environment = {{"PYTHONWARNINGS", "ignore"}}});
  }

  LoopbackServer server_{Speaks::https};
};

TEST_F(TlsClients, OfModelsAskTheirServers) {
  server_.serves("/v1/chat/completions",
                 R"({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices":
                     [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]})",
                 "application/json");
  server_.serves(
      "/v1/messages",
      R"({"id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                     "content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 1, "output_tokens": 1}})",
      "application/json");
  const RunResult result = run({"openai", "anthropic"}, R"(
import anthropic, openai
asked = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
client = openai.OpenAI(base_url=url + "/v1", api_key=key)
print(client.chat.completions.create(**asked).choices[0].message.content)
print(anthropic.Anthropic(base_url=url, api_key=key).messages.create(max_tokens=9, **asked).content[0].text)
async def together():
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key=key) as client:
        answers = await asyncio.gather(*[client.chat.completions.create(**asked) for _ in range(5)])
        print([answer.choices[0].message.content for answer in answers])
    async with anthropic.AsyncAnthropic(base_url=url, api_key=key) as client:
        print((await client.messages.create(max_tokens=9, **asked)).content[0].text)
asyncio.run(together())
)");
  EXPECT_EQ(result.stdout_data, "hello\nhi\n['hello', 'hello', 'hello', 'hello', 'hello']\nhi\n")
      << result.stderr_data;
  EXPECT_TRUE(server_.has_heard("the real value"));
}

TEST_F(TlsClients, CarryTlsBytesThemselves) {
  const RunResult result = run({"httpx", "httpx2", "aiohttp"}, R"(
import aiohttp, httpx, httpx2
for library in httpx, httpx2:
    answer = library.get(url + "/a", headers={"X-Key": key})
    print(answer.status_code, answer.text.split()[1], "the real value" in answer.text)
    async def fetch():
        async with library.AsyncClient() as client:
            for size in 0, 1, 3_000_000:
                print((await client.post(url + "/size", content=b"x" * size)).text.strip())
            print(len((await client.get(url + "/big?3000000")).content))
            return "the real value" in (await client.get(url + "/a", headers={"X-Key": key})).text
    print(asyncio.run(fetch()))
    async def wrong():
        async with library.AsyncClient() as client:
            try:
                await client.get(f"https://127.0.0.1:{port}/")
            except library.ConnectError as error:
                print(error)
    asyncio.run(wrong())
async def upgraded():
    reader, writer = await asyncio.open_connection("localhost", port)
    before = writer.get_extra_info("ssl_object")
    await writer.start_tls(ssl.create_default_context(), server_hostname="localhost")
    writer.write(b"GET /up HTTP/1.1\r\nConnection: close\r\n\r\n")
    print(before, writer.get_extra_info("ssl_object").version(), (await reader.read()).split()[7:9])
    writer.close()
    await writer.wait_closed()
asyncio.run(upgraded())
async def sessions():
    async with aiohttp.ClientSession() as session:
        async with session.get(url + "/s") as answer:
            print((await answer.text()).split()[1])
    for asked in {"server_hostname": "other.example"}, {"ssl_handshake_timeout": 30}:
        try:
            _, writer = await asyncio.open_connection("localhost", port, ssl=True, **asked)
            print(writer.get_extra_info("peercert")["subject"])
            writer.close()
        except ssl.SSLCertVerificationError as error:
            print(error.verify_message)
asyncio.run(sessions())
)");
  const std::string of_each =
      "200 /a True\n0\n1\n3000000\n3000000\nTrue\n"
      "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: IP address mismatch\n";
  EXPECT_EQ(result.stdout_data, of_each + of_each +
                                    "None TLSv1.3 [b'GET', b'/up']\n/s\nhostname mismatch\n"
                                    "((('commonName', 'localhost'),),)\n")
      << result.stderr_data;
}

TEST_F(TlsClients, MemoryIsCarriedByHand) {
  const RunResult result = run({}, R"(
def talk(tls, incoming, outgoing, connection):
    def act(act, *arguments):
        while True:
            try:
                done = act(*arguments)
                waits = False
            except ssl.SSLWantReadError:
                waits = True
            if outgoing.pending:
                connection.sendall(outgoing.read())
            if not waits:
                return done
            piece = connection.recv(5)
            incoming.write(piece) if piece else incoming.write_eof()
    return act
def begin(host, **named):
    bios = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    for name, value in named.items():
        setattr(context, name, value)
    tls = context.wrap_bio(*bios, server_hostname=host)
    return tls, talk(tls, *bios, socket.create_connection(("localhost", port)))
tls, act = begin("localhost")
print(tls.version(), tls.pending(), tls.server_hostname)
act(tls.do_handshake)
print(tls.version(), tls.pending(), tls.getpeercert()["subject"], tls._sslobj.version())
print(act(tls.write, b"GET /hand HTTP/1.1\r\nConnection: close\r\n\r\n"))
room = bytearray(9)
print(act(tls.read, 4), tls.read(0), act(tls.read, 1, room), room[:2], act(tls.read, -1, room) > 0)
rest = b""
while piece := act(tls.read, 100):
    rest += piece
print(rest[-4:], tls.read(10), tls.unwrap())
for failing in lambda: tls.write(b"x"), lambda: tls.read(-1), lambda: begin(""), lambda: begin(None), lambda: begin(".a"), \
        lambda: ssl.create_default_context().wrap_bio(1, 2, server_hostname="a"), ssl.SSLObject, \
        lambda: begin("localhost")[0].unwrap(), lambda: begin("localhost")[0].read(), lambda: begin("localhost")[0].getpeercert():
    try:
        print(failing())
    except (ssl.SSLError, TypeError, ValueError) as error:
        print(type(error).__name__)
tls, act = begin("other.example")
for _ in range(2):
    try:
        act(tls.do_handshake)
    except ssl.SSLCertVerificationError as error:
        print(error.verify_message)
tls, act = begin(None, check_hostname=False)
try:
    act(tls.do_handshake)
except ssl.SSLCertVerificationError as error:
    print(error.verify_message)
first, second = socket.socketpair()
for host in "localhost", None:
    bios = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    tls = context.wrap_bio(*bios, server_hostname=host)
    try:
        talk(tls, *bios, first)(tls.do_handshake)
    except ssl.SSLError as error:
        print(error.strerror)
first.sendall(b"ordinary bytes")
print(second.recv(99))
with context.wrap_socket(socket.create_connection(("localhost", port)), server_hostname="localhost") as outer:
    try:
        context.wrap_socket(outer, server_hostname="localhost")
    except ssl.SSLError as error:
        print(error.strerror)
with socket.create_connection(("localhost", port)) as ended:
    try:
        ended.sendall(b"no TLS")
        ended.shutdown(socket.SHUT_WR)
        while ended.recv(99):
            pass
    except ConnectionResetError:
        pass
    try:
        context.wrap_socket(ended, server_hostname="localhost").do_handshake()
    except OSError as error:
        print("by the host" in str(error))
)");
  EXPECT_EQ(
      result.stdout_data,
      "None 0 localhost\nTLSv1.3 0 ((('commonName', 'localhost'),),) TLSv1.3\n41\n"
      "b'HTTP' b'' 1 bytearray(b'/\\x00') True\nb'\\r\\n\\r\\n' b'' None\n"
      "SSLZeroReturnError\nValueError\nValueError\nValueError\nValueError\nTypeError\nTypeError\n"
      "SSLError\nSSLWantReadError\nValueError\n"
      "hostname mismatch\nhostname mismatch\nIP address mismatch\n"
      "[SSL] TLS is spoken by the host, on connections to the world outside: there is none between "
      "programs of a sandbox\n"
      "[SSL] TLS is spoken by the host, on connections to the world outside: there is none between "
      "programs of a sandbox\nb'ordinary bytes'\n"
      "[SSL] there is TLS on this connection already, and none inside of it\nFalse\n")
      << result.stderr_data;
}

TEST_F(TlsClients, GoOverToTlsOnAConnectionOfNode) {
  const RunResult result =
      sandbox()->run({.argv = {"node", "--input-type=module", "-e",
                               "const port = " + std::to_string(server_.port()) + R"(;
import net from 'net';
import tls from 'tls';
import { PassThrough } from 'stream';
const ask = 'GET /up HTTP/1.1\r\nConnection: close\r\n\r\n';
const said = (socket) => new Promise((resolve) => {
  let text = '', ends = [];
  socket.on('data', (piece) => { text += piece; });
  socket.on('error', (error) => resolve(`${error.code} ${error.syscall ?? ''}`));
  socket.on('close', () => setImmediate(resolve, text.split('\r\n\r\n')[1]?.split('\r\n')[0]));
});
// One that is there, one that is on its way, one that is refused.
const there = net.connect(port, 'localhost');
await new Promise((resolve) => there.on('connect', resolve));
there.on('data', () => console.log('the first hears nothing'));
const secure = tls.connect({ socket: there, servername: 'localhost' }, () => {
  console.log(secure instanceof tls.TLSSocket, secure.getProtocol(), secure.getPeerCertificate().subject, secure.getCipher().version, secure.authorized);
  secure.write(ask);
});
console.log(await said(secure), there.destroyed);
const early = tls.connect({ socket: net.connect(port, 'localhost') });
early.write(ask);
console.log(await said(early));
console.log(await said(tls.connect({ socket: net.connect(1, '127.0.0.1') })));
console.log(await said(new tls.TLSSocket(net.connect(port, 'localhost'), { servername: 'other.example' })));
// What there is no TLS over.
const outer = tls.connect(port, 'localhost', { ALPNProtocols: ['http/1.1'] });
await new Promise((resolve) => outer.on('secureConnect', resolve));
console.log(await said(tls.connect({ socket: outer, servername: 'localhost' })), outer.destroyed);
console.log(await said(tls.connect({ socket: new PassThrough(), servername: 'localhost' })));
const server = net.createServer(() => {}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.on('listening', resolve));
console.log(await said(tls.connect({ port: server.address().port, host: '127.0.0.1' })));
server.close();
for (const wrong of [() => new tls.TLSSocket(new PassThrough(), { isServer: true }), () => tls.createServer(), () => new tls.Server()])
  try { wrong(); } catch (error) { console.log(error.code); }
)"}});
  EXPECT_EQ(result.stdout_data,
            "true TLSv1.3 [Object: null prototype] { CN: 'localhost' } TLSv1.3 true\n"
            "GET /up HTTP/1.1 true\nGET /up HTTP/1.1\nECONNREFUSED connect\n"
            "ERR_TLS_CERT_ALTNAME_INVALID \nERR_FEATURE_UNAVAILABLE_ON_PLATFORM  true\n"
            "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM \nERR_FEATURE_UNAVAILABLE_ON_PLATFORM \n"
            "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM\nERR_FEATURE_UNAVAILABLE_ON_PLATFORM\n"
            "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM\n")
      << result.stderr_data;
}

// Says what the host of a sandbox says of a good handshake, and then what a server would by TLS, all
// of it in plain: at once, or as an answer.
class Impostor {
 public:
  explicit Impostor(bool waits) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, waits] { serve(waits); });
  }
  ~Impostor() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  std::string port() const { return std::to_string(port_); }

 private:
  void serve(bool waits) const {
    const std::string told = R"({"version": "TLSv1.3", "cipher": ["c", "TLSv1.3", 256]})";
    const std::string page = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    const std::string said = std::string{static_cast<char>(told.size()), 0, 0, 0} + told + page;
    std::vector<UniqueFd> open;
    for (;;) {
      UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
      if (!client) return;
      char byte = 0;
      if (waits) (void)::recv(client.get(), &byte, 1, 0);
      (void)::send(client.get(), said.data(), said.size(), MSG_NOSIGNAL);
      open.push_back(std::move(client));
    }
  }

  const UniqueFd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST(TlsOfTheHost, IsNotWhatTheServerSaysInPlain) {
  const Impostor at_once(false), as_an_answer(true);
  const auto sandbox = make_sandbox(
      {.network = {.allow = {"localhost:" + at_once.port() + "," + as_an_answer.port()}}});
  const RunResult result = sandbox->run({.argv = {"python3", "-c", R"(
import select, socket, ssl, sys
for port, waits in (int(sys.argv[1]), True), (int(sys.argv[2]), False):
    for _ in range(20):
        connection = socket.create_connection(("localhost", port))
        if waits:
            select.select([connection], [], [])
        else:
            connection.sendall(b"?")
        try:
            with ssl.create_default_context().wrap_socket(connection, server_hostname="localhost") as tls:
                print(tls.recv(100))
        except (ssl.SSLError, ConnectionError) as error:
            waits and print(error)
)",
                                                  at_once.port(), as_an_answer.port()}});
  std::string refused;
  for (int i = 0; i < 20; ++i) refused += "[SSL] the server has said something before TLS began\n";
  EXPECT_EQ(result.stdout_data, refused) << result.stderr_data;
  // Nor where a program carries TLS's bytes itself, and lets the server see what begins it.
  const RunResult carried = sandbox->run({.argv = {"python3", "-c", R"(
import json, os, socket, ssl, struct, sys
incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
def attempt():
    try:
        print(tls.do_handshake())
    except ssl.SSLError as error:
        print(error.reason)
attempt()
seen = outgoing.read()
told = json.dumps({"version": "TLSv1.3", **json.loads(seen[16:-16])}).encode()
incoming.write(struct.pack("<I", len(told)) + told)
attempt()
)"}});
  EXPECT_EQ(carried.stdout_data, "None\nWRONG_VERSION_NUMBER\n") << carried.stderr_data;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(sandbox->run({.script = "curl -s https://localhost:" + at_once.port()}).stdout_data,
              "");
  }
}

}  // namespace
}  // namespace cloche::testing
