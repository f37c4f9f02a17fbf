# SPDX-License-Identifier: Apache-2.0
"""Servers inside sandboxes, reached by host name and by headers."""
import base64
import hashlib
import json
import os
import socket
import struct
import sys
import unittest
from pathlib import Path

from e2b_wire_test import Box, WithServer

sys.path.insert(0, str(Path(__file__).parent.parent / "http"))
from server import until  # noqa: E402

# What runs inside: answers that come piece by piece, that end early, and WebSockets that say everything back.
SERVER = '''
import base64, hashlib, http.server, os, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body, *fields):
        self.send_response(200)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            open("/tmp/left", "w").close()
            self.close_connection = True

    def do_GET(self):
        if self.headers.get("Upgrade") == "websocket":
            return self.socket()
        if self.path == "/headers":
            return self.answer("".join(f"{k}: {v}\\n" for k, v in self.headers.items()).encode())
        if self.path == "/nothing":
            self.close_connection = True
            return
        if self.path == "/slow":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while not os.path.exists("/tmp/go"):
                self.wfile.write(b"1\\r\\n.\\r\\n")
                self.wfile.flush()
                time.sleep(0.05)
            return self.wfile.write(b"3\\r\\nend\\r\\n0\\r\\n\\r\\n")
        if self.path.startswith("/zeros"):
            return self.answer(bytes(int(self.path.partition("?")[2])))
        self.answer(("got " + self.path).encode(), ("X-Inside", "yes"))

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            left = int(self.headers["Content-Length"])
            while left and (piece := self.rfile.read1(min(left, 65536))):
                left -= len(piece)
                yield piece
            return
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def do_POST(self):
        if self.path == "/never":
            open("/tmp/asked", "w").close()
            while not os.path.exists("/tmp/enough"):
                time.sleep(0.05)
            return self.answer(b"enough", ("Connection", "close"))
        if self.path == "/told":
            with open("/tmp/told", "wb", 0) as told:
                for piece in self.body():
                    told.write(piece)
            return self.answer(b"told")
        body = b"".join(self.body())
        self.answer(f"{len(body)} {hashlib.sha256(body).hexdigest()}".encode())

    def socket(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "websocket")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while head := self.rfile.read(2):
            size = head[1] & 127
            if size == 126:
                size = int.from_bytes(self.rfile.read(2), "big")
            mask = self.rfile.read(4)
            text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
            length = bytes([size]) if size < 126 else bytes([126]) + size.to_bytes(2, "big")
            self.wfile.write(head[:1] + length + text)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Handler).serve_forever()
'''


class Ports(WithServer):
    words = [*WithServer.words, "--domain", "box.localhost"]

    def setUp(self):
        self.box = Box(self.server)
        self.addCleanup(self.box.rest, "DELETE")
        octets = {"Content-Type": "application/octet-stream"}
        self.assertEqual(self.box.agent("POST", "/files?path=server.py", SERVER.encode(), **octets)[0], 200)
        self.listen(8123)

    def listen(self, port):
        self.box.run(f"python3 server.py {port} >/dev/null 2>&1 & true")
        until(lambda: self.get("/", self.host(port))[0] == 200, "the server inside listens")

    def host(self, port=8123):
        return {"Host": f"{port}-{self.box.id}.box.localhost:{self.server.port}"}

    def get(self, path, headers=None):
        return self.server.ask("GET", path, headers=headers or self.host())

    def connect(self):
        sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=240)
        self.addCleanup(sock.close)
        return sock

    def test_by_host_name_and_by_headers(self):
        self.assertEqual(self.box.made["domain"], "box.localhost")
        for headers in (self.host(), self.box.headers(8123, token=False)):
            status, fields, body = self.get("/a?b=c", headers)
            self.assertEqual((status, fields["X-Inside"], body), (200, "yes", b"got /a?b=c"))
        # Paths that the doors of the server have too are its own.
        for path in ("/mcp", "/sandboxes", "/v1/sessions", "/console/", "/files?signature=x", "/run_code"):
            self.assertEqual(self.get(path)[2], ("got " + path).encode())
        seen = self.get("/headers", {**self.host(), **self.box.headers(8123), "E2b-Traffic-Access-Token": "secret",
                                     "X-Own": "kept", "Connection": "keep-alive, X-Hop", "X-Hop": "1"})[2].decode().lower()
        self.assertIn("x-own: kept", seen)
        self.assertIn("connection: close", seen)
        for name in ("e2b-", "secret", "x-hop"):
            self.assertNotIn(name, seen)

    def test_the_name_by_which_it_is_asked(self):
        self.assertIn(f"host: {self.host()['Host']}", self.get("/headers")[2].decode().lower())
        self.assertEqual(self.box.rest("PUT", "/network", {"maskRequestHost": "own.test:${PORT}"})[0], 204)
        self.assertIn("host: own.test:8123\n", self.get("/headers")[2].decode().lower())
        self.assertEqual(self.box.rest("PUT", "/network", {"allowOut": []})[0], 204)
        self.assertEqual(self.box.rest("GET")[1]["network"]["maskRequestHost"], "own.test:${PORT}")
        for wrong in ["a b", "a\r\nX: y", "a/b", "x" * 300, 7]:
            self.assertEqual(self.box.rest("PUT", "/network", {"maskRequestHost": wrong})[0], 400, wrong)
        self.assertEqual(self.box.rest("PUT", "/network", {"maskRequestHost": ""})[0], 204)
        self.assertIn(f"host: {self.host()['Host']}", self.get("/headers")[2].decode().lower())

    def test_bodies_of_any_size(self):
        body = os.urandom(5_000_000)
        status, _, answer = self.server.ask("POST", "/", body, headers=self.host())
        self.assertEqual((status, answer.decode()), (200, f"5000000 {hashlib.sha256(body).hexdigest()}"))
        self.assertEqual(self.server.ask("POST", "/", b"", headers=self.host())[2].decode().split()[0], "0")
        status, _, answer = self.get("/zeros?20000000")
        self.assertEqual((status, len(answer), answer.count(0)), (200, 20_000_000, 20_000_000))

    def test_a_body_comes_as_it_is_sent(self):
        for framing, pieces, last in (("Content-Length: 6", (b"one", b"two"), b""),
                                      ("Transfer-Encoding: chunked", (b"3\r\none\r\n", b"3\r\ntwo\r\n"), b"0\r\n\r\n")):
            with self.subTest(framing):
                self.box.run("rm -f /tmp/told")
                sock = self.connect()
                sock.sendall(f"POST /told HTTP/1.1\r\nHost: {self.host()['Host']}\r\n{framing}\r\n\r\n".encode() + pieces[0])
                until(lambda: self.box.run("cat /tmp/told")[0] == "one", "the server inside has the first half")
                sock.sendall(pieces[1] + last + b"GET /after HTTP/1.1\r\nHost: x\r\n\r\n")
                seen = b""
                while piece := sock.recv(65536):
                    seen += piece
                self.assertIn(b"told", seen)
                self.assertNotIn(b"after", seen)
                self.assertEqual(self.box.run("cat /tmp/told")[0], "onetwo")

    def test_a_body_of_chunks(self):
        body = [os.urandom(n) for n in (1, 70_000, 3, 2_000_000)]
        connection = self.server.connection()
        self.addCleanup(connection.close)
        connection.request("POST", "/", iter(body), headers=self.host(), encode_chunked=True)
        answer = connection.getresponse().read().decode()
        self.assertEqual(answer, f"2070004 {hashlib.sha256(b''.join(body)).hexdigest()}")

    def test_a_client_is_told_to_go_on(self):
        sock = self.connect()
        sock.sendall(f"POST / HTTP/1.1\r\nHost: {self.host()['Host']}\r\nContent-Length: 4\r\n"
                     "Expect: 100-continue\r\n\r\n".encode())
        stream = sock.makefile("rb")
        self.assertEqual((stream.readline(), stream.readline()), (b"HTTP/1.1 100 Continue\r\n", b"\r\n"))
        sock.sendall(b"body")
        self.assertTrue(stream.readline().startswith(b"HTTP/1.1 200 "))
        self.assertIn(hashlib.sha256(b"body").hexdigest().encode(), stream.read())
        # Where nobody listens it need not send it.
        sock = self.connect()
        sock.sendall(f"POST / HTTP/1.1\r\nHost: {self.host(8199)['Host']}\r\nContent-Length: 4\r\n"
                     "Expect: 100-continue\r\n\r\n".encode())
        self.assertTrue(sock.makefile("rb").readline().startswith(b"HTTP/1.1 502 "))

    def test_a_server_that_reads_nothing_holds_its_client_up(self):
        before = self.server.resident_mb()
        sock = self.connect()
        sock.setblocking(False)
        sock.sendall(f"POST /never HTTP/1.1\r\nHost: {self.host()['Host']}\r\nContent-Length: 1000000000\r\n\r\n".encode())
        until(lambda: self.box.run("ls /tmp/asked")[0], "the server inside is asked")
        full = 0

        def is_full():
            nonlocal full
            try:
                sock.send(bytes(1 << 20))
                full = 0
            except BlockingIOError:
                full += 1
            return full > 100
        until(is_full, "nothing more is taken")
        self.assertLess(self.server.resident_mb() - before, 100)
        self.box.run("touch /tmp/enough")
        sock.setblocking(True)
        self.assertIn(b"enough", sock.makefile("rb").read())

    def test_a_body_that_ends_nowhere_ends_the_connection(self):
        sock = self.connect()
        sock.sendall(f"POST / HTTP/1.1\r\nHost: {self.host()['Host']}\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n".encode())
        self.assertNotIn(b" 200 ", sock.makefile("rb").readline())

    def test_an_answer_comes_as_it_is_made(self):
        connection = self.server.connection()
        self.addCleanup(connection.close)
        connection.request("GET", "/slow", headers=self.host())
        answer = connection.getresponse()
        self.assertEqual(answer.read(2), b"..")  # before it is whole
        self.box.run("touch /tmp/go")
        rest = answer.read()
        self.assertTrue(rest.endswith(b"end"), rest[-100:])

    def test_what_comes_after_a_request_does_not_reach_the_server(self):
        sock = self.connect()
        head = f"Host: {self.host()['Host']}\r\n"
        sock.sendall(f"GET /first HTTP/1.1\r\n{head}\r\nGET /second HTTP/1.1\r\n{head}X-Access-Token: secret\r\n\r\n".encode())
        seen = b""
        while piece := sock.recv(65536):
            seen += piece
        self.assertIn(b"got /first", seen)
        self.assertNotIn(b"second", seen)

    def test_a_websocket(self):
        sock = self.connect()
        key = base64.b64encode(os.urandom(16)).decode()
        sock.sendall((f"GET /ws HTTP/1.1\r\nHost: {self.host()['Host']}\r\nConnection: keep-alive, Upgrade\r\n"
                      f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
        stream = sock.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += stream.readline()
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        self.assertTrue(head.startswith(b"HTTP/1.1 101 "), head)
        self.assertIn(accept, head)
        for text in (b"hello", b"x" * 60000):
            length = bytes([128 | len(text)]) if len(text) < 126 else bytes([254]) + struct.pack(">H", len(text))
            sock.sendall(b"\x81" + length + b"\0\0\0\0" + text)
            first, size = stream.read(2)
            if size == 126:
                size, = struct.unpack(">H", stream.read(2))
            self.assertEqual((first, stream.read(size)), (0x81, text))
        self.assertEqual(self.box.rest("POST", "/pause", {})[0], 204)  # which ends it
        self.assertEqual(stream.read(), b"")

    def test_a_web_socket_that_is_refused_is_an_answer(self):
        status, _, body = self.server.ask("POST", "/", b"x", headers={
            **self.host(), "Connection": "Upgrade", "Upgrade": "websocket"})
        self.assertEqual((status, body[:2]), (200, b"1 "))

    def test_what_is_not_there(self):
        def told(headers, path="/"):
            status, fields, body = self.get(path, headers)
            return status, fields["Content-Type"], json.loads(body)
        closed = {"sandboxId": self.box.id, "message": "The sandbox is running but port is not open", "port": 8124, "code": 502}
        self.assertEqual(told(self.host(8124)), (502, "application/json", closed))
        self.assertEqual(told(self.host(), "/nothing"), (502, "application/json", {**closed, "port": 8123}))
        nobody = "a" * 20
        self.assertEqual(told({"Host": f"8123-{nobody}.box.localhost"}), (
            502, "application/json", {"sandboxId": nobody, "message": "The sandbox was not found", "code": 502}))
        self.box.rest("POST", "/pause", {})
        self.assertEqual(told(self.host())[2]["message"], "The sandbox was not found")

    def test_who_may_come_in(self):
        self.assertEqual(self.box.rest("PUT", "/network", {"allowPublicTraffic": False})[0], 204)
        self.assertEqual(self.get("/")[0], 403)
        token = {"e2b-traffic-access-token": self.box.made["trafficAccessToken"]}
        self.assertEqual(self.get("/", {**self.host(), **token})[0], 200)
        self.assertEqual(self.get("/", {**self.host(), "e2b-traffic-access-token": "x"})[0], 403)

    def test_a_client_that_does_not_read_and_one_that_leaves(self):
        slow = self.connect()
        slow.sendall(f"GET /zeros?50000000 HTTP/1.1\r\nHost: {self.host()['Host']}\r\n\r\n".encode())
        self.assertEqual(slow.recv(8), b"HTTP/1.1")
        self.listen(8125)
        self.assertEqual(self.get("/zeros?1000000", self.host(8125))[0], 200)  # another one is not slowed down
        slow.close()
        until(lambda: self.box.run("ls /tmp/left")[0], "the server inside hears of it")
        self.assertEqual(self.get("/")[0], 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
