# SPDX-License-Identifier: Apache-2.0
"""A client of `cloche mcp` that is as plain as can be: lines out, lines in, in both eras."""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "wires"))
from line_client import LineClient, WireError, result_of  # noqa: E402

PROGRAM = os.environ["CLOCHE_PROGRAM"]
MODERN = "2026-07-28"


def about(capabilities=None, version=MODERN, **more) -> dict:
    """What a request of the modern era says of itself."""
    return {"io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": capabilities or {}, **more}


class Wire(LineClient):
    """One server, with one client."""

    def __init__(self, *arguments: str) -> None:
        super().__init__(PROGRAM, "mcp", *arguments)
        self.others: list[dict] = []  # messages that were no answer
        self.answers: dict = {}

    def send(self, method: str, params=None) -> int:
        self.last += 1
        self.send_message(id=self.last, method=method, params=params or {})
        return self.last

    def notify(self, method: str, params=None) -> None:
        self.send_message(method=method, params=params or {})

    def wait(self, number: int) -> dict:
        """The answer to that request; what comes before is kept."""
        while number not in self.answers:
            message = self.read()
            if "method" in message:
                self.others.append(message)
            else:
                self.answers[message["id"]] = message
        return result_of(self.answers.pop(number))

    def wait_other(self, method: str) -> dict:
        """The next message of that method that is no answer."""
        while True:
            for message in self.others:
                if message["method"] == method:
                    self.others.remove(message)
                    return message
            message = self.read()
            if "method" in message:
                self.others.append(message)
            else:
                self.answers[message["id"]] = message

    def ask(self, method: str, params=None) -> dict:
        return self.wait(self.send(method, params))

    def modern(self, method: str, params=None, capabilities=None) -> dict:
        return self.ask(method, {**(params or {}), "_meta": about(capabilities)})

    def begin(self, tool: str, **arguments) -> int:
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments) -> dict:
        return self.wait(self.begin(tool, **arguments))

    def initialize(self, version="2025-11-25", capabilities=None) -> dict:
        result = self.ask("initialize", {"protocolVersion": version, "capabilities": capabilities or {},
                                         "clientInfo": {"name": "wire", "version": "1"}})
        self.notify("notifications/initialized")
        return result


def text_of(result: dict) -> str:
    assert result["content"][0]["type"] == "text", result
    return result["content"][0]["text"]


class WireTest(unittest.TestCase):
    """A fresh server for each test, after a handshake."""

    arguments: tuple = ()
    capabilities: dict = {}

    def setUp(self) -> None:
        self.wire = Wire(*self.arguments)
        self.addCleanup(self.wire.close)
        self.wire.initialize(capabilities=self.capabilities)

    def call(self, tool: str, **arguments) -> dict:
        """The result of a tool that can do what it is asked."""
        result = self.wire.call(tool, **arguments)
        self.assertFalse(result["isError"], result["content"])
        return result

    def refused(self, tool: str, **arguments) -> str:
        """Why a tool cannot."""
        result = self.wire.call(tool, **arguments)
        self.assertTrue(result["isError"], result)
        return text_of(result)
