# SPDX-License-Identifier: Apache-2.0
"""A WebSocket client that is as plain as can be, for the tests of `/rpc`."""
import base64
import json
import os
import socket
import struct
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "wires"))
from line_client import WireError, result_of  # noqa: E402, F401

PATIENCE_S = 240


class Refused(Exception):
    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status}: {body[:300]!r}")
        self.status = status


class Closed(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"closed: {code}")
        self.code = code


class Rpc:
    """JSON-RPC with terminals over one WebSocket."""

    def __init__(self, port: int, token=None, protocols=("cloche.rpc.v1",), headers=None, path="/rpc") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        fields = {"Host": f"127.0.0.1:{port}", "Upgrade": "websocket", "Connection": "Upgrade",
                  "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode()}
        if protocols:
            fields["Sec-WebSocket-Protocol"] = ", ".join(protocols)
        if token:
            fields["Authorization"] = f"Bearer {token}"
        fields.update(headers or {})
        lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
        self.socket.sendall((f"GET {path} HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
        self.rest = b""
        head = b""
        while b"\r\n\r\n" not in head:
            more = self.socket.recv(65536)
            if not more:
                raise Refused(0, head)
            head += more
        head, _, self.rest = head.partition(b"\r\n\r\n")
        self.head = head.decode()
        status = int(self.head.split()[1])
        if status != 101:
            self.socket.close()
            raise Refused(status, self.rest)
        self.last = 0
        self.notices: list = []  # that came while an answer was waited for
        self.frames: list = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send_frame(self, opcode: int, data: bytes, fin: bool = True) -> None:
        head = bytes([(0x80 if fin else 0) | opcode])
        size = len(data)
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        self.socket.sendall(head + b"\0\0\0\0" + data)  # a mask that changes nothing

    def _take(self, size: int) -> bytes:
        parts = [self.rest]
        have = len(self.rest)
        while have < size:
            more = self.socket.recv(1 << 20)
            if not more:
                raise Closed(1006)
            parts.append(more)
            have += len(more)
        whole = b"".join(parts)
        self.rest = whole[size:]
        return whole[:size]

    def read_message(self):
        """(opcode, bytes) of a whole message; pings are answered."""
        data, kind = bytearray(), 0
        while True:
            first, second = self._take(2)
            size = second & 0x7f
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            assert not second & 0x80, "a server does not mask"
            body = self._take(size)
            opcode = first & 0xf
            if opcode == 8:
                raise Closed(struct.unpack(">H", body[:2])[0] if body else 1005)
            if opcode == 9:
                self.send_frame(10, body)
                continue
            if opcode == 10:
                continue
            kind = kind or opcode
            data += body
            if first & 0x80:
                return kind, bytes(data)

    def read(self):
        """The next message of JSON; what terminals print goes into `frames`."""
        while True:
            kind, data = self.read_message()
            if kind == 1:
                return json.loads(data)
            self.frames.append((struct.unpack(">I", data[:4])[0], data[4:]))

    def send(self, method: str, **params) -> int:
        self.last += 1
        self.send_frame(1, json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).encode())
        return self.last

    def answer_to(self, number: int):
        while True:
            message = self.read()
            if message.get("id") == number and "method" not in message:
                return result_of(message)
            self.notices.append(message)

    def call(self, method: str, **params):
        return self.answer_to(self.send(method, **params))

    def notice(self, method: str, **wanted):
        """The next notification with these parameters."""
        def fits(message):
            return message.get("method") == method and all(message["params"].get(k) == v for k, v in wanted.items())
        while True:
            for message in self.notices:
                if fits(message):
                    self.notices.remove(message)
                    return message["params"]
            self.notices.append(self.read())

    def type(self, terminal: int, data: bytes) -> None:
        self.send_frame(2, struct.pack(">I", terminal) + data)

    def printed(self, terminal: int, until: bytes) -> bytes:
        """What a terminal prints, until that is in it."""
        text = b""
        while True:
            for number, data in self.frames:
                text += data if number == terminal else b""
            self.frames = [frame for frame in self.frames if frame[0] != terminal]
            if until in text:
                return text
            kind, data = self.read_message()
            if kind == 1:
                self.notices.append(json.loads(data))
            else:
                self.frames.append((struct.unpack(">I", data[:4])[0], data[4:]))
