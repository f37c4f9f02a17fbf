#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures several servers as one (docs/cluster.md), on the loopback.

    bench/cells.py PROGRAM [--sessions N] [--seconds N] [--clients N]

PROGRAM is cloche. Rows: what it costs to ask a cell for another one's session, instead of that one itself (a GET of a
session, one client, a connection for each request); sessions made a second in three cells, each saved, by N processes
of clients; how long a cell with N saved sessions takes to start until it is ready; how long it takes to move a key with
N paused sessions; and what N idle sessions take in memory. Clients and servers share the machine.
"""
import argparse
import http.client
import json
import multiprocessing
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from servers import Server, free_port

TOKEN = "bench"


class Cells:
    def __init__(self, program: str, count: int):
        self.program, self.folder = program, tempfile.TemporaryDirectory()
        Path(self.folder.name, "secret").write_text("a-secret-of-the-cells\n")
        self.ports = {key: free_port() for key in range(1, count + 1)}
        self.servers = {}
        for key in self.ports:
            self.start(key)

    def peers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def start(self, key: int) -> float:
        """Seconds until it was ready."""
        begin = time.monotonic()
        self.servers[key] = Server(
            [self.program, "serve", "--port", str(self.ports[key]), "--cell-key", str(key), "--token", TOKEN, "--max-sessions", "100000",
             "--idle-timeout", "0", "--state-dir", self.folder.name + "/state", "--peers", self.peers(), "--take-keys",
             "--peer-token-file", self.folder.name + "/secret", "--ssh-host-key", self.folder.name + "/key"], self.ports[key])
        while ask(self.ports[key], "GET", "/ready")[0] != 200:
            time.sleep(0.005)
        return time.monotonic() - begin

    def stop(self, key: int) -> None:
        self.servers.pop(key).__exit__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for key in list(self.servers):
            self.stop(key)
        self.folder.cleanup()


def ask(port: int, method: str, path: str, body=None, connection=None):
    own = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    own.request(method, path, json.dumps(body) if body is not None else None,
                {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"})
    answer = own.getresponse()
    content = answer.read()
    if not connection:
        own.close()
    return answer.status, content


def create(port: int, connection=None) -> str:
    status, body = ask(port, "POST", "/sessions", {"ttl": 28800}, connection)
    if status != 200:
        raise SystemExit(f"no session: {status} {body[:200]}")
    return json.loads(body)["sessionId"]


def hop(cells: Cells, seconds: float) -> tuple:
    """Milliseconds, p50: of a request to the cell itself, and by another one; in turn."""
    session = create(cells.ports[1])
    ask(cells.ports[2], "GET", f"/sessions/{session}")
    times = {1: [], 2: []}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for key, own in times.items():
            begin = time.monotonic()
            if ask(cells.ports[key], "GET", f"/sessions/{session}")[0] != 200:
                raise SystemExit("the session is not reached")
            own.append(time.monotonic() - begin)
    return tuple(statistics.median(own) * 1000 for own in times.values())


def client(port: int, seconds: float, made) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    count, deadline = 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        create(port, connection)
        count += 1
    made.put(count)


def creates(cells: Cells, seconds: float, clients: int) -> float:
    made = multiprocessing.Queue()
    ports = list(cells.ports.values())
    processes = [multiprocessing.Process(target=client, args=(ports[i % len(ports)], seconds, made)) for i in range(clients)]
    for process in processes:
        process.start()
    total = sum(made.get() for _ in processes)
    for process in processes:
        process.join()
    return total / seconds


def resident_mb(server: Server) -> float:
    return sum(int(line.split()[1]) for line in Path(f"/proc/{server.process.pid}/smaps_rollup").read_text().splitlines()
               if line.startswith("Pss:")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--clients", type=int, default=6)
    options = parser.parse_args()
    row = lambda name, value: print(f"{name:56} {value}", flush=True)
    with Cells(options.program, 3) as cells:
        direct, by_peer = hop(cells, options.seconds)
        row("GET of a session, p50 ms: by its cell, by another", f"{direct:.2f} {by_peer:.2f} (hop {by_peer - direct:.2f})")
        row(f"sessions made a second in 3 cells, {options.clients} clients", f"{creates(cells, options.seconds, options.clients):.0f}")
    with Cells(options.program, 2) as cells:
        before = resident_mb(cells.servers[1])
        connection = http.client.HTTPConnection("127.0.0.1", cells.ports[1], timeout=60)
        ids = [create(cells.ports[1], connection) for _ in range(options.sessions)]
        row(f"memory of {options.sessions} idle sessions, MB", f"{resident_mb(cells.servers[1]) - before:.0f}")
        cells.stop(1)
        row(f"start of a cell with {options.sessions} sessions until ready, s", f"{cells.start(1):.2f}")
        connection = http.client.HTTPConnection("127.0.0.1", cells.ports[1], timeout=60)
        for session in ids:
            ask(cells.ports[1], "POST", f"/sessions/{session}/pause", connection=connection)
        begin = time.monotonic()
        subprocess.run([options.program, "cells", "move", "1", "2", "--peers", cells.peers(), "--peer-token-file",
                        cells.folder.name + "/secret"], check=True, stdout=subprocess.DEVNULL)
        row(f"a key with {options.sessions} paused sessions is moved, s", f"{time.monotonic() - begin:.2f}")


if __name__ == "__main__":
    main()
