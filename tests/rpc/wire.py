# SPDX-License-Identifier: Apache-2.0
"""A client of `cloche rpc` that is as plain as can be: lines out, lines in."""
import base64
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "wires"))
from line_client import LineClient, WireError, result_of  # noqa: E402

BINARY = os.environ["CLOCHE_BINARY"]


class Wire(LineClient):
    """One server."""

    def __init__(self, *arguments: str) -> None:
        super().__init__(BINARY, "rpc", *arguments)

    def send(self, method: str, params=None, **more) -> int:
        self.last += 1
        given = {} if params is None else {"params": params}
        self.send_message(id=self.last, method=method, **more, **given)
        return self.last

    def call(self, method: str, params=None):
        """The result; an error is an exception."""
        number = self.send(method, params)
        answer = self.read()
        assert answer["id"] == number, answer
        return result_of(answer)

    def run(self, command: str, **params) -> dict:
        return self.call("run", {"command": command, **params})


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
