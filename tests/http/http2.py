# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 by hand, for what no honest client does, and a server that speaks it."""
import select
import socket
import ssl
import struct
import subprocess

from server import PATIENCE_S, Server

DOMAIN = "box.test"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
NO_ERROR, HTTP_1_1_REQUIRED, ENHANCE_YOUR_CALM, CANCEL = 0, 13, 11, 8
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def make_certificates(folder):
    """An authority, and what it says of the server: the files of its certificate, the server's, and the server's key."""
    authority, certificate, key = (f"{folder}/{name}.pem" for name in ("authority", "cert", "key"))
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run([*make, "-subj", "/CN=test authority", "-keyout", f"{folder}/authority-key.pem", "-out", authority],
                   check=True, capture_output=True)
    subprocess.run([*make, "-subj", f"/CN={DOMAIN}", "-addext", f"subjectAltName=DNS:{DOMAIN},DNS:*.{DOMAIN},DNS:localhost",
                    "-addext", "basicConstraints=critical,CA:FALSE", "-CA", authority, "-CAkey",
                    f"{folder}/authority-key.pem", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return authority, certificate, key


class TlsServer(Server):
    def __init__(self, folder, *words, **more):
        self.authority, certificate, key = make_certificates(folder)
        super().__init__(*words, "--tls-cert", certificate, "--tls-key", key, "--domain", DOMAIN, **more)

    @property
    def url(self):
        return f"https://{DOMAIN}:{self.port}"

    def curl(self, *words, name=DOMAIN, body=None):
        """What curl prints, which asks by HTTP/2 unless it is told otherwise."""
        done = subprocess.run(["curl", "-sS", "--http2", "--cacert", self.authority, "--resolve",
                               f"{name}:{self.port}:127.0.0.1", *words],
                              input=body, capture_output=True, timeout=PATIENCE_S)
        if done.returncode != 0:
            raise RuntimeError(f"curl says {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def connect(self, name=DOMAIN, protocols=("h2",)):
        context = ssl.create_default_context(cafile=self.authority)
        context.set_alpn_protocols(list(protocols))
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), PATIENCE_S), server_hostname=name)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def head(fields):
    """Each field as a literal: HPACK without its table."""
    return b"".join(b"\0" + size(len(name)) + name.encode() + size(len(value)) + value.encode() for name, value in fields)


def size(number):
    if number < 127:
        return bytes([number])
    rest, number = b"\x7f", number - 127
    while number >= 128:
        rest, number = rest + bytes([number % 128 + 128]), number // 128
    return rest + bytes([number])


class Client:
    """A connection by hand: it sends what it is told to, and answers only what must be answered."""

    def __init__(self, server):
        self.server = server
        self.sock = server.connect()
        assert self.sock.selected_alpn_protocol() == "h2"
        self.buffer = b""
        self.next = 1
        self.send(PREFACE + frame(SETTINGS, 0, 0))

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def ask(self, method, path, fields=(), body=b"", last=True, scheme="https"):
        """Sends a request; the number of its stream."""
        stream, self.next = self.next, self.next + 2
        block = head([(":method", method), (":scheme", scheme), (":authority", f"{DOMAIN}:{self.server.port}"),
                      (":path", path), *fields])
        self.send(frame(HEADERS, END_HEADERS | (0 if body or not last else END_STREAM), stream, block))
        for at in range(0, len(body), 16384):
            self.send(frame(DATA, END_STREAM if last and at + 16384 >= len(body) else 0, stream, body[at:at + 16384]))
        return stream

    def read(self):
        """The next frame, (kind, flags, stream, payload), or None at the end of the connection."""
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            try:
                piece = self.sock.recv(65536)
            except (ConnectionResetError, ssl.SSLError):
                piece = b""
            if not piece:
                return None
            self.buffer += piece
        length = int.from_bytes(self.buffer[:3], "big")
        kind, flags, stream = self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big")
        payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
        if kind == DATA and length:
            self.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", length)))
        return kind, flags, stream, payload

    def read_until(self, wanted):
        """The first frame of which `wanted` is true, or None at the end."""
        while (got := self.read()) is not None:
            if wanted(*got):
                return got
        return None

    def body(self, stream):
        """The rest of a stream's body."""
        got = b""
        while (each := self.read()) is not None:
            kind, flags, of, payload = each
            if of != stream:
                continue
            if kind == RST_STREAM:
                raise RuntimeError(f"the stream was reset: {int.from_bytes(payload, 'big')}")
            got += payload if kind == DATA else b""
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                return got
        raise RuntimeError("the connection has ended")

    def goodbye(self):
        """The error of GOAWAY; None where the connection ends without one."""
        got = self.read_until(lambda kind, *_: kind == GOAWAY)
        return int.from_bytes(got[3][4:8], "big") if got else None

    def flood(self, data, times=20_000):
        """Sends that again and again until the server says goodbye: its error, or None where the connection ends without."""
        # By turns, as an object of TLS is not for two threads.
        self.sock.setblocking(False)
        rest = b""
        try:
            while True:
                if not rest and times:
                    rest, times = data, times - 1
                try:
                    rest = rest[self.sock.send(rest):] if rest else rest
                except ssl.SSLWantWriteError:
                    pass
                try:
                    piece = self.sock.recv(65536)
                    if not piece:
                        return None
                    self.buffer += piece
                except ssl.SSLWantReadError:
                    if not any(select.select([self.sock], [self.sock] if rest or times else [], [], PATIENCE_S)):
                        raise TimeoutError("the server does nothing") from None
                while len(self.buffer) >= 9 and len(self.buffer) >= 9 + int.from_bytes(self.buffer[:3], "big"):
                    kind, _, _, payload = self.read()
                    if kind == GOAWAY:
                        return int.from_bytes(payload[4:8], "big")
        except (ConnectionError, ssl.SSLError):
            return None
