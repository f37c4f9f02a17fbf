#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the steps of `cloche sbs` against the Python package session-based-sandbox, where that is installed, in
the same run. SSH and SFTP: bench/ssh.py.

    bench/sessions.py PROGRAM [--sbs COMMAND] [--seconds N]

PROGRAM is cloche; COMMAND the package's own `sbs` (pip install session-based-sandbox into a venv). What is
absent is left out.

Steps: `echo hello` by bash, `print(1)` by python, over connections that are kept. The clients are one thread of
http_load, which lies beside PROGRAM and takes some microseconds for each; both servers have their defaults, and logs
that nobody reads. Client and server share the machine: so beside the throughput stands what each
step cost the server in CPU time, with all that it started. Both servers are measured in turn, row by row, so that a
machine whose speed drifts is fair to both.
"""
import argparse
import contextlib
import subprocess
from pathlib import Path

from servers import Server, free_port


def measure(load: Path, server: Server, seconds: float, clients: int, kind: str, source: str, what: str) -> tuple:
    """(how many a second, of all clients together; milliseconds of CPU that each cost the server)"""
    words = [load, str(server.port), str(clients), str(seconds), kind, source, what]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        client.stdout.readline()
        before = server.cpu_s()
        client.stdin.write("go\n")
        client.stdin.flush()
        count, took = client.stdout.readline().split() or [0, 0]
        cpu = server.cpu_s() - before
    if client.returncode != 0:
        raise SystemExit(f"{load} failed")
    return int(count) / float(took), cpu / max(int(count), 1) * 1000


def step_rows(load: Path, seconds: float) -> dict:
    """What measures each row at a server."""
    def row(clients, kind="bash", source="echo hello", what="steps"):
        return lambda server: measure(load, server, seconds, clients, kind, source, what)

    return {"bash step": row(1), "bash step, 4 clients": row(4), "bash step, 16 clients": row(16),
            "create, bash step, delete": row(1, what="lives"),
            "create, bash step, delete, 8 clients": row(8, what="lives"),
            "python step": row(1, "python", "print(1)")}


def compare_steps(options, table: dict) -> None:
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, words in [("cloche", [options.program, "sbs"]),
                            ("session-based-sandbox", [options.sbs] if options.sbs else None)]:
            if words:
                port = free_port()
                servers[name] = stack.enter_context(Server([*words, "run", "--port", str(port)], port))
        for row, act in step_rows(options.load, options.seconds).items():
            for name, server in servers.items():
                rate, cpu = act(server)
                table.setdefault(row + " (1/s)", {})[name] = rate
                table.setdefault(row + " (ms of CPU)", {})[name] = cpu
    for values in table.values():
        if len(values) == 2:
            ours, theirs = values.values()
            values["ratio"] = max(ours / theirs, theirs / ours)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--sbs", help="the package's own program")
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    options.load = Path(options.program).resolve().parent / "http_load"
    table = {}
    compare_steps(options, table)
    for row, values in table.items():
        print(f"{row:52}", "  ".join(f"{name} {value:9.2f}" for name, value in values.items()))


if __name__ == "__main__":
    main()
