#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the door for E2B's clients beside processes of this machine, in the same run.

    bench/e2b.py PROGRAM [--count N] [--rounds N]

PROGRAM is cloche. `create + echo, kill` is what an agent's first command takes, by the requests that E2B's clients
make: a sandbox, the first command in it with its output streamed, and its end. Beside it stands a process of the
machine's own bash in a new folder: without a wall around it. `line of output` is the time from the moment at which
a command has its line to write, which the line says, until the client has read it; natively through a pipe.
Both are measured in turn, round by round; medians of all rounds in milliseconds, and the slowest hundredth.
"""
import argparse
import base64
import http.client
import json
import statistics
import struct
import subprocess
import tempfile
import time

from servers import Server, free_port

KEY = "e2b_" + "0" * 40
SHELL_PORT = "49983"


class Client:
    """One kept connection to the server, as E2B's clients use it."""

    def __init__(self, port: int):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.box = None

    def ask(self, method: str, path: str, body=None) -> dict:
        self.connection.request(method, path, json.dumps(body) if body else None,
                                {"X-API-KEY": KEY, "Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text.decode()}")
        return json.loads(text) if text else {}

    def create(self) -> None:
        self.box = self.ask("POST", "/sandboxes", {"templateID": "base", "timeout": 300})

    def kill(self) -> None:
        self.ask("DELETE", f"/sandboxes/{self.box['sandboxID']}")

    def output(self, command: str):
        """The pieces of a command's standard output, as they come."""
        message = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", command]}, "stdin": False}).encode()
        self.connection.request("POST", "/process.Process/Start", struct.pack(">BI", 0, len(message)) + message, {
            "Content-Type": "application/connect+json", "E2b-Sandbox-Id": self.box["sandboxID"],
            "E2b-Sandbox-Port": SHELL_PORT, "X-Access-Token": self.box["envdAccessToken"]})
        answer = self.connection.getresponse()
        while head := answer.read(5):
            flags, size = struct.unpack(">BI", head)
            frame = json.loads(answer.read(size))
            if flags & 2 and "error" in frame:
                raise SystemExit(f"{command}: {frame['error']}")
            if data := frame.get("event", {}).get("data", {}).get("stdout"):
                yield base64.b64decode(data)


def first_command_by_server(client: Client) -> float:
    begin = time.perf_counter()
    client.create()
    if b"".join(client.output("echo hello")) != b"hello\n":
        raise SystemExit("a wrong answer")
    client.kill()
    return time.perf_counter() - begin


def first_command_by_process() -> float:
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["bash", "--noprofile", "-l", "-c", "echo hello"], cwd=folder, capture_output=True)
    if done.stdout != b"hello\n":
        raise SystemExit("a wrong answer")
    return time.perf_counter() - begin


# Each line is the moment at which it is written, in seconds.
LINES = "for i in $(seq 100); do sleep 0.002; echo $EPOCHREALTIME; done"


def ages(pieces) -> list:
    found = []
    rest = b""
    for piece in pieces:
        now = time.time()
        *lines, rest = (rest + piece).split(b"\n")
        found += [now - float(line) for line in lines]
    return found


def lines_by_server(client: Client) -> list:
    client.create()
    found = ages(client.output(LINES))
    client.kill()
    return found


def lines_by_process() -> list:
    with subprocess.Popen(["bash", "-c", LINES], stdout=subprocess.PIPE, bufsize=0) as child:
        return ages(iter(lambda: child.stdout.read(4096), b""))


def row(name: str, ours: list, native: list) -> None:
    def said(times: list) -> str:
        ordered = sorted(times)
        return f"{statistics.median(ordered) * 1e3:8.3f} ({ordered[len(ordered) * 99 // 100] * 1e3:7.3f}) ms"

    print(f"{name:20} cloche {said(ours)}   native process {said(native)}   "
          f"{statistics.median(native) / statistics.median(ours):5.2f} times as fast")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=100, help="sandboxes of a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    port = free_port()
    with Server([options.program, "serve", "--port", str(port), "--token", KEY], port) as server:
        client = Client(server.port)
        first_command_by_server(client)
        ours, native, our_lines, native_lines = [], [], [], []
        for _ in range(options.rounds):
            ours += [first_command_by_server(client) for _ in range(options.count)]
            native += [first_command_by_process() for _ in range(options.count)]
            our_lines += lines_by_server(client)
            native_lines += lines_by_process()
        row("create + echo, kill", ours, native)
        row("line of output", our_lines, native_lines)


if __name__ == "__main__":
    main()
