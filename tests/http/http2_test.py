# SPDX-License-Identifier: Apache-2.0
"""HTTP/2: curl and a browser's ways, and what attackers do with it."""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from http2 import (ACK, CANCEL, CONTINUATION, DATA, DOMAIN, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS,
                   HTTP_1_1_REQUIRED, NO_ERROR, PING, PREFACE, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE, Client, TlsServer,
                   frame, head)
from server import until

sys.path.insert(0, str(Path(__file__).parent.parent / "e2b"))
from e2b_ports_test import SERVER  # noqa: E402

TOKEN = "e2b_test_token"
VERSION = ["-o", "/dev/null", "-w", "%{http_version} %{http_code}"]
BEARER = ["-H", "Authorization: Bearer " + TOKEN]
JSON = ["-H", "Content-Type: application/json"]
OCTETS = ["-H", "Content-Type: application/octet-stream"]


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl on this machine, which makes the certificate")
class WithTls(unittest.TestCase):
    words = ["serve", "--token", TOKEN]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.server = TlsServer(cls.folder.name, *cls.words)
        cls.addClassCleanup(cls.server.stop)

    def url(self, path):
        return self.server.url + path

    def client(self):
        client = Client(self.server)
        self.addCleanup(client.close)
        return client

    def session(self):
        made = json.loads(self.server.curl(*BEARER, *JSON, "-X", "POST", "-d", "{}", self.url("/v1/sessions")))
        path = "/v1/sessions/" + made["sessionId"]
        self.addCleanup(lambda: self.server.curl(*BEARER, "-X", "DELETE", self.url(path)))
        return path

    def box(self):
        made = json.loads(self.server.curl("-H", "X-API-KEY: " + TOKEN, *JSON, "-d", '{"templateID": "base"}',
                                           self.url("/v2/sandboxes")))
        self.addCleanup(lambda: self.server.curl("-H", "X-API-KEY: " + TOKEN, "-X", "DELETE",
                                                 self.url("/sandboxes/" + made["sandboxID"])))
        return made


def of_port(box, port):
    return [("e2b-sandbox-id", box["sandboxID"]), ("e2b-sandbox-port", str(port)), ("x-access-token", box["envdAccessToken"]),
            ("e2b-traffic-access-token", box["trafficAccessToken"])]


def as_words(fields):
    return [word for name, value in fields for word in ("-H", f"{name}: {value}")]


class Http2(WithTls):
    def test_both_are_offered(self):
        self.assertEqual(self.server.curl(*VERSION, self.url("/v1/health")), b"2 200")
        self.assertEqual(self.server.curl("--http1.1", *VERSION, self.url("/v1/health")), b"1.1 200")
        with self.server.connect(protocols=()) as sock:
            self.assertIsNone(sock.selected_alpn_protocol())
        with self.server.connect(protocols=("spdy/3", "http/1.1")) as sock:
            self.assertEqual(sock.selected_alpn_protocol(), "http/1.1")

    def test_commands_and_files(self):
        session = self.session()
        ran = json.loads(self.server.curl(*BEARER, *JSON, "-d", '{"command": "seq 3 | tac"}', self.url(session + "/commands")))
        self.assertEqual(ran["stdout"], "3\n2\n1\n")
        content = os.urandom(30_000_000)
        self.server.curl(*BEARER, *OCTETS, "--data-binary", "@-", self.url(session + "/files?path=big"), body=content)
        got = self.server.curl(*BEARER, self.url(session + "/files?filePath=big"))
        self.assertEqual(hashlib.sha256(got).digest(), hashlib.sha256(content).digest())

    def test_many_streams_at_once(self):
        session = self.session()
        bodies = [json.dumps({"command": f"echo {i}"}).encode() for i in range(80)]
        client = self.client()
        fields = [("authorization", "Bearer " + TOKEN), ("content-type", "application/json")]
        streams = [client.ask("POST", session + "/commands", fields, body) for body in bodies]
        answers = {stream: b"" for stream in streams}
        open_streams = set(streams)
        while open_streams:
            kind, flags, stream, payload = client.read()
            self.assertNotEqual(kind, RST_STREAM)
            if kind == DATA:
                answers[stream] += payload
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                open_streams.remove(stream)
        self.assertEqual([json.loads(answers[stream])["stdout"] for stream in streams], [f"{i}\n" for i in range(80)])
        got = self.server.curl("--parallel", "--parallel-max", "100", *VERSION, self.url("/v1/health?[1-300]"))
        self.assertEqual(got.count(b"2 200"), 300)

    def test_who_takes_a_cell_back_ends_it(self):
        box = self.box()
        client = self.client()
        fields = [*of_port(box, 49999), ("content-type", "application/json")]
        endless = client.ask("POST", "/execute", fields, json.dumps({"code": "print('on', flush=True)\nwhile True: pass"}).encode())
        client.read_until(lambda kind, flags, stream, payload: kind == DATA and b"on" in payload)
        client.send(frame(RST_STREAM, 0, endless, struct.pack(">I", CANCEL)))
        after = client.ask("POST", "/execute", fields, json.dumps({"code": "6 * 7"}).encode())
        self.assertIn(b'"42"', client.body(after))

    def test_servers_inside_are_asked_by_http1(self):
        box = self.box()
        agent = as_words(of_port(box, 49983))
        self.server.curl(*agent, *OCTETS, "--data-binary", "@-", self.url("/files?path=server.py"), body=SERVER.encode())
        message = b'{"process": {"cmd": "/bin/bash", "args": ["-c", "python3 server.py 8123 >/dev/null 2>&1 & true"]}}'
        self.server.curl(*agent, "-H", "Content-Type: application/connect+json", "--data-binary", "@-",
                         self.url("/process.Process/Start"), body=b"\0" + struct.pack(">I", len(message)) + message)
        name = f"8123-{box['sandboxID']}.{DOMAIN}"
        inside = f"https://{name}:{self.server.port}/page"
        until(lambda: self.server.curl(*VERSION, inside, name=name) == b"1.1 200", "the server inside listens")
        # By headers a client learns it from the stream's error; curl asks again.
        client = self.client()
        stream = client.ask("GET", "/page", of_port(box, 8123))
        got = client.read_until(lambda kind, flags, of, payload: of == stream)
        self.assertEqual((got[0], got[3]), (RST_STREAM, struct.pack(">I", HTTP_1_1_REQUIRED)))
        self.assertEqual(self.server.curl(*as_words(of_port(box, 8123)), self.url("/page")), b"got /page")

    def test_what_http2_has_not(self):
        client = self.client()
        block = head([(":method", "CONNECT"), (":authority", "x:1")])
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
        client.next = 3
        self.assertIn(b"HTTP/1.1", client.body(1))
        plain = client.ask("GET", "/v1/remote", [("authorization", "Bearer " + TOKEN)])
        self.assertTrue(client.body(plain))

    def test_names_and_origins_are_checked(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with TlsServer(folder.name, "serve", "--allow-host", DOMAIN) as server:
            def status(*words):
                return server.curl(*VERSION, "-X", "POST", *words, server.url + "/v1/sessions").split()[1]
            self.assertEqual(status(), b"200")
            self.assertEqual(status("-H", "Host: evil.test"), b"403")
            self.assertEqual(status("-H", "Origin: https://evil.test"), b"403")
            self.assertEqual(server.stop(), 0)

    def test_no_target_gets_around_who_asks_for_a_token(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        tokens = Path(folder.name, "tokens")
        tokens.write_text(f"one {hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
        with TlsServer(folder.name, "serve", "--api", "steps", "--isolate", "owner", "--tokens-file", tokens) as server:
            client = Client(server)
            self.addCleanup(client.close)
            for path in ["/v1/sessions", f"https://{DOMAIN}/v1/sessions", "v1/sessions"]:
                stream = client.ask("POST", path, [("content-type", "application/json")], b"{}", scheme="x")
                self.assertNotIn(b"sessionId", client.body(stream), path)
            stream = client.ask("POST", "/v1/sessions", [("content-type", "application/json"), ("authorization", "Bearer " + TOKEN)],
                                b"{}", scheme="x")
            self.assertIn(b"sessionId", client.body(stream))

    def test_it_can_be_turned_off(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with TlsServer(folder.name, "serve", "--no-http2", "--token", TOKEN) as server:
            self.assertEqual(server.curl(*VERSION, server.url + "/v1/health"), b"1.1 200")

    def test_at_its_end_the_server_answers_what_it_has(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with TlsServer(folder.name, "serve", "--token", TOKEN, "--drain", "60") as server:
            made = json.loads(server.curl(*BEARER, *JSON, "-X", "POST", "-d", "{}", server.url + "/v1/sessions"))
            path = f"/v1/sessions/{made['sessionId']}"
            client = Client(server)
            self.addCleanup(client.close)
            fields = [("authorization", "Bearer " + TOKEN), ("content-type", "application/json")]
            waiting = client.ask("POST", path + "/commands", fields, b'{"command": "touch on; until [ -e go ]; do :; done; echo gone on"}')
            until(lambda: b"on" in server.curl(*BEARER, *JSON, "-d", '{"command": "ls"}', server.url + path + "/commands"),
                  "the command runs")
            other = Client(server)
            self.addCleanup(other.close)
            until(lambda: json.loads(server.curl(*BEARER, *JSON, "-d", '{"command": "touch go"}', server.url + path + "/commands")),
                  "the command may end")
            stopped = threading.Thread(target=server.stop)
            stopped.start()
            self.assertIn(b"gone on", client.body(waiting))
            self.assertEqual(other.goodbye(), 0)
            stopped.join()


class Attackers(WithTls):
    def tearDown(self):
        self.assertEqual(self.server.curl(*VERSION, self.url("/v1/health")), b"2 200")

    def send_until_ended(self, client, data):
        """Sends until the server ends the connection."""
        try:
            for _ in range(20_000):
                client.send(data)
        except OSError:
            pass

    def test_floods_of_frames_that_ask_for_nothing(self):
        ping = frame(PING, 0, 0, b"12345678")
        for data in (ping, frame(SETTINGS, 0, 0), frame(PRIORITY, 0, 3, b"\0\0\0\0\1"), frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1")):
            # On a machine that is too busy to send a flood the connection ends for want of a request.
            self.assertIn(self.client().flood(data * 10), (ENHANCE_YOUR_CALM, NO_ERROR, None), data[:9])

    def test_an_honest_ping_is_answered(self):
        client = self.client()
        client.send(frame(PING, 0, 0, b"12345678"))
        self.assertEqual(client.read_until(lambda kind, *_: kind == PING), (PING, ACK, 0, b"12345678"))

    def test_streams_that_are_taken_back_at_once(self):
        client = self.client()
        block = head([(":method", "GET"), (":scheme", "https"), (":authority", DOMAIN), (":path", "/v1/health")])
        data = b"".join(frame(HEADERS, END_HEADERS | END_STREAM, stream, block) +
                        frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL)) for stream in range(1, 4001, 2))
        self.assertIn(client.flood(data), (ENHANCE_YOUR_CALM, None))

    def test_heads_without_an_end(self):
        client = self.client()
        client.send(frame(HEADERS, 0, 1, head([(":method", "GET")])))
        self.send_until_ended(client, frame(CONTINUATION, 0, 1, head([("x", "y")])))
        self.assertIsNone(client.read_until(lambda kind, *_: kind == DATA))

    def test_too_many_streams(self):
        client = self.client()
        client.read_until(lambda kind, flags, *_: kind == SETTINGS and flags & ACK)
        client.send(frame(SETTINGS, ACK, 0))
        block = head([(":method", "POST"), (":scheme", "https"), (":authority", DOMAIN), (":path", "/v1/sessions"),
                      ("authorization", "Bearer " + TOKEN)])
        client.send(b"".join(frame(HEADERS, END_HEADERS, stream, block) for stream in range(1, 1001, 2)))
        self.assertTrue(client.read_until(lambda kind, *_: kind in (RST_STREAM, 7)))

    def test_no_http2_and_frames_that_are_too_large(self):
        sock = self.server.connect()
        self.addCleanup(sock.close)
        sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        while sock.recv(65536):
            pass
        client = self.client()
        self.send_until_ended(client, frame(DATA, 0, 1, bytes(100_000)))
        self.assertIsNone(client.read_until(lambda kind, *_: kind == DATA))

    def test_heads_that_are_too_large(self):
        client = self.client()
        stream = client.ask("GET", "/v1/health", [(f"x-{i}", "y" * 3000) for i in range(5)])
        self.assertTrue(client.body(stream))
        for _ in range(3):
            block = head([(":method", "GET"), (":scheme", "https"), (":authority", DOMAIN), (":path", "/"),
                          *[(f"x-{i}", "y" * 1000) for i in range(40)]])
            stream, client.next = client.next, client.next + 2
            pieces = [block[at:at + 16000] for at in range(0, len(block), 16000)]
            client.send(frame(HEADERS, END_STREAM, stream, pieces[0]))
            for number, piece in enumerate(pieces[1:], 2):
                client.send(frame(CONTINUATION, END_HEADERS if number == len(pieces) else 0, stream, piece))
            self.assertIn(b"too large", client.body(stream))

    def test_who_reads_nothing_holds_up_nobody(self):
        session_client = self.client()
        fields = [("authorization", "Bearer " + TOKEN), ("content-type", "application/json")]
        stream = session_client.ask("POST", "/v1/sessions", fields, b"{}")
        session = "/v1/sessions/" + json.loads(session_client.body(stream))["sessionId"]
        stream = session_client.ask("POST", session + "/commands", fields, b'{"command": "head -c 20000000 /dev/zero > big"}')
        session_client.body(stream)
        silent = self.client()
        for _ in range(50):
            silent.ask("GET", session + "/files?filePath=big", fields)
        until(lambda: self.server.curl(*VERSION, *BEARER, self.url(session)) == b"2 200", "others are served")
        self.assertEqual(len(self.server.curl(*BEARER, self.url(session + "/files?filePath=big"))), 20_000_000)


class OfWorkers(WithTls):
    """Answers of other processes reach clients of HTTP/2 too."""
    words = ["serve", "--isolate", "owner", "--tokens-file"]

    @classmethod
    def setUpClass(cls):
        cls.tokens = tempfile.NamedTemporaryFile("w")
        cls.addClassCleanup(cls.tokens.close)
        cls.tokens.write("ann " + hashlib.sha256(TOKEN.encode()).hexdigest() + "\n")
        cls.tokens.flush()
        cls.words = [*cls.words, cls.tokens.name]
        super().setUpClass()

    def test_commands_and_files(self):
        session = self.session()
        ran = json.loads(self.server.curl(*BEARER, *JSON, "-d", '{"command": "seq 3"}', self.url(session + "/commands")))
        self.assertEqual(ran["stdout"], "1\n2\n3\n")
        content = os.urandom(5_000_000)
        self.server.curl(*BEARER, *OCTETS, "--data-binary", "@-", self.url(session + "/files?path=big"), body=content)
        self.assertEqual(self.server.curl(*BEARER, self.url(session + "/files?filePath=big")), content)
        self.assertEqual(self.server.curl(*BEARER, *VERSION, self.url(session)), b"2 200")
        self.assertEqual(self.server.curl(*BEARER, *VERSION, "-I", self.url(session + "/files?filePath=none"))[:2], b"2 ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
