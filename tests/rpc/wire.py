# SPDX-License-Identifier: Apache-2.0
"""A client of `cloche rpc` that is as plain as can be: lines out, lines in."""
import base64
import json
import os
import select
import subprocess
import unittest

BINARY = os.environ["CLOCHE_BINARY"]
ANSWER_SECONDS = 120  # a hang is a failure; a slow machine is not


class Wire:
    """One server."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen([BINARY, "rpc", *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0
        self.rest = b""

    def send_line(self, line: bytes) -> None:
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params=None, **more) -> int:
        self.last += 1
        request = {"jsonrpc": "2.0", "id": self.last, "method": method, **more}
        if params is not None:
            request["params"] = params
        self.send_line(json.dumps(request).encode())
        return self.last

    def read_line(self) -> bytes:
        """The next line; b"" at the end of output."""
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], ANSWER_SECONDS)
            if not ready:
                raise AssertionError("the server does not answer")
            block = os.read(self.process.stdout.fileno(), 1 << 20)
            if not block:
                return b""
            self.rest += block
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def read(self) -> dict:
        return json.loads(self.read_line())

    def call(self, method: str, params=None):
        """The result; an error is an exception."""
        number = self.send(method, params)
        answer = self.read()
        assert answer["id"] == number, answer
        if "error" in answer:
            raise WireError(**answer["error"])
        return answer["result"]

    def run(self, command: str, **params) -> dict:
        return self.call("run", {"command": command, **params})

    def end(self) -> int:
        """Closes the input and waits for the server's exit status."""
        self.process.stdin.close()
        status = self.process.wait(timeout=ANSWER_SECONDS)
        self.process.stdout.close()
        return status

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass


class WireError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class WireTest(unittest.TestCase):
    """A fresh server for each test, with a sandbox where `creates` says so."""

    creates = True

    def setUp(self) -> None:
        self.wire = Wire()
        self.addCleanup(self.wire.close)
        if self.creates:
            self.assertEqual(self.wire.call("create"), {"ok": True})

    def assert_error(self, code: int, start: str, method: str, params=None) -> None:
        with self.assertRaises(WireError) as caught:
            self.wire.call(method, params)
        self.assertEqual(caught.exception.code, code, caught.exception.message)
        self.assertTrue(caught.exception.message.startswith(start), caught.exception.message)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def decoded(text: str) -> bytes:
    return base64.b64decode(text)
