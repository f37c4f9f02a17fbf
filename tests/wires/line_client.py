# SPDX-License-Identifier: Apache-2.0
"""A program that speaks JSON-RPC by lines, with a client that is as plain as can be: lines out, lines in."""
import json
import os
import select
import subprocess

ANSWER_SECONDS = 120  # a hang is a failure; a slow machine is not


class WireError(Exception):
    """An error that the server answers with."""

    def __init__(self, code: int, message: str, data=None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.data = data


class LineClient:
    """One server, of that command line."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0
        self.rest = b""

    def send_line(self, line: bytes) -> None:
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send_message(self, **message) -> None:
        self.send_line(json.dumps({"jsonrpc": "2.0", **message}).encode())

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
        line = self.read_line()
        assert line, "the server has ended"
        return json.loads(line)

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


def result_of(answer: dict):
    """What a request has given; an error is an exception."""
    if "error" in answer:
        raise WireError(**answer["error"])
    return answer["result"]
