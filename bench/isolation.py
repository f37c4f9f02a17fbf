#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `cloche serve --isolate` costs: a table of times and memory beside a server of one process.

    bench/isolation.py build/bin/cloche [OWNERS]
"""
import hashlib
import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 50


def children(pid: int) -> list:
    return [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]


def family(pid: int) -> list:
    return [pid] + [each for child in children(pid) for each in family(child)]


def private_mib(pids: list) -> float:
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


class Server:
    def __init__(self, program: str, owners: int, *words: str):
        self.folder = tempfile.TemporaryDirectory()
        tokens = Path(self.folder.name, "tokens")
        tokens.write_text("".join(f"owner{n} {hashlib.sha256(str(n).encode()).hexdigest()}\n" for n in range(owners)))
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            self.port = sock.getsockname()[1]
        log = Path(self.folder.name, "log")
        with open(log, "w") as stream:
            self.process = subprocess.Popen(
                [program, "serve", "--port", str(self.port), "--tokens-file", str(tokens),
                 "--ssh-host-key", self.folder.name + "/key", *words], stderr=stream)
        while "listening" not in log.read_text() and self.process.poll() is None:
            time.sleep(0.01)

    def ask(self, owner: int, path: str, body: dict):
        """(milliseconds, answer)"""
        started = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {owner}",
                                                            "Content-Type": "application/json"})
        answer = connection.getresponse()
        content = json.loads(answer.read())
        connection.close()
        assert answer.status == 200, content
        return (time.perf_counter() - started) * 1000, content

    def memory(self) -> float:
        return private_mib(family(self.process.pid))

    def figures(self, owners: int) -> dict:
        first, second, commands = [], [], []
        self.ask(0, "/sessions", {})  # reads what every process reads once
        before = self.memory()
        for owner in range(1, owners):
            first.append(self.ask(owner, "/sessions", {})[0])
        after = self.memory()
        for owner in range(1, owners):
            took, session = self.ask(owner, "/sessions", {})
            second.append(took)
            path = f"/sessions/{session['sessionId']}/commands"
            commands += [self.ask(owner, path, {"command": "echo hello"})[0] for _ in range(REPEATS // owners + 2)][1:]
        before_more = self.memory()
        for owner in range(1, owners):
            self.ask(owner, "/sessions", {})
        return {"first session of an owner, ms": statistics.median(first),
                "a further one, ms": statistics.median(second),
                "echo hello, ms": statistics.median(commands),
                "private memory for an owner with a session, MiB": (after - before) / (owners - 1),
                "for a further session, MiB": (self.memory() - before_more) / (owners - 1)}

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def main() -> None:
    program, owners = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 9
    rows = []
    modes = [[], ["--isolate", "owner"], ["--isolate", "session"]]
    for words in modes:
        server = Server(program, owners, *words)
        rows.append(server.figures(owners))
        server.end()
    print("| | one process | --isolate owner | --isolate session |\n|---|---|---|---|")
    for name in rows[0]:
        print(f"| {name} |" + "".join(f" {row[name]:.1f} |" for row in rows))


if __name__ == "__main__":
    main()
