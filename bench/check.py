#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of cloche: fails where the second takes more CPU time than the first, beyond noise.

    bench/check.py BEFORE NOW [--rounds N] [--allow RATIO] [--before-rootfs FOLDER] [--now-rootfs FOLDER]

BEFORE and NOW are programs. Both stay, and each work is asked of them in turn, the order changing from round to round, so
that a machine whose speed drifts is fair to both. What counts is the CPU time of the program, and of that the ratio
within each round. A work has become slower where even the lower end of the median's interval (95 % of them hold the
median) is above RATIO (1.05). Exit status 1 where one has, 2 where a program fails.
"""
import argparse
import math
import statistics
import sys

from rpc_client import Rpc


def lives(rpc: Rpc, method: str, **params) -> None:
    """A sandbox with one step in it."""
    for _ in range(20):
        sandbox = rpc.call("sandbox.create")["sandboxId"]
        rpc.call(method, sandboxId=sandbox, **params)
        rpc.call("sandbox.destroy", sandboxId=sandbox)


def forks(rpc: Rpc, code: str) -> None:
    """Of the sandbox's Python, each after `code` in it, with one step."""
    for _ in range(10):
        rpc.call("python.execute", code=code)
        sandbox = rpc.call("sandbox.fork")["sandboxId"]
        rpc.call("python.execute", sandboxId=sandbox, code="print(1)")
        rpc.call("sandbox.destroy", sandboxId=sandbox)


def steps(rpc: Rpc, count: int, method: str, **params) -> None:
    for _ in range(count):
        rpc.call(method, **params)


FILES = "import os\nfor i in range(500):\n    with open(f'/tmp/f{i}', 'w') as f: f.write('x')\n"
WRITTEN = "if 'state' not in globals(): state = bytearray(10 << 20)\nstate[:] = bytes(10 << 20)"
LOOP = "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); case a$i in *9) :;; esac; done"
WORKS = {
    "sandbox + echo": lambda rpc: lives(rpc, "run", command="echo hi"),
    "sandbox + Python print(1)": lambda rpc: lives(rpc, "python.execute", code="print(1)"),
    "fork + Python step": lambda rpc: forks(rpc, "pass"),
    "fork of 10 MB just written + step": lambda rpc: forks(rpc, WRITTEN),
    "warm echo": lambda rpc: steps(rpc, 200, "run", command="echo hi"),
    "warm Python step": lambda rpc: steps(rpc, 200, "python.execute", code="print(1)"),
    "pipeline of three": lambda rpc: steps(rpc, 10, "run", command="seq 1 1000 | grep 7 | wc -l"),
    "500 small files from Python": lambda rpc: steps(rpc, 2, "python.execute", code=FILES),
    "loop of builtins, 5,000 turns": lambda rpc: steps(rpc, 1, "run", command=LOOP),
    "sort of 100,000 lines": lambda rpc: steps(rpc, 1, "run", command="seq 100000 | sort -r | tail -n 1"),
    "sum of 200,000 in Python": lambda rpc: steps(rpc, 1, "python.execute",
                                                  code="t = 0\nfor i in range(200000): t += i"),
}


def interval(values: list[float]) -> tuple[float, float]:
    """Of the median, by order: the number of values below it is binomial."""
    ordered = sorted(values)
    count = len(ordered)
    cut, below = 0, 0.0
    for k in range(count):
        below += math.comb(count, k) / 2 ** count
        if below > 0.025:
            break
        cut = k + 1
    return ordered[max(cut - 1, 0)], ordered[min(count - cut, count - 1)]


def cpu_of(rpc: Rpc, work) -> float:
    before = rpc.cpu_s()
    work(rpc)
    return rpc.cpu_s() - before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("now")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--allow", type=float, default=1.05)
    parser.add_argument("--before-rootfs")
    parser.add_argument("--now-rootfs")
    options = parser.parse_args()
    if options.rounds < 6:
        parser.error("--rounds: fewer than 6 tell nothing")
    slower = []
    print(f"{'work (CPU, median ms)':<34}{'before':>9}{'now':>9}{'ratio':>8}   95 %")
    with Rpc(options.before, options.before_rootfs) as before, Rpc(options.now, options.now_rootfs) as now:
        for name, work in WORKS.items():
            for rpc in (before, now):
                work(rpc)
            pairs = []
            for turn in range(options.rounds):
                order = (before, now) if turn % 2 == 0 else (now, before)
                cpu = {rpc: cpu_of(rpc, work) for rpc in order}
                pairs.append((cpu[before], cpu[now]))
            ratios = [b / a for a, b in pairs]
            low, high = interval(ratios)
            is_slower = low > options.allow
            slower += [name] if is_slower else []
            print(f"{name:<34}{statistics.median(a for a, _ in pairs) * 1e3:>9.2f}"
                  f"{statistics.median(b for _, b in pairs) * 1e3:>9.2f}{statistics.median(ratios):>8.3f}"
                  f"   {low:.3f} to {high:.3f}{'  SLOWER' if is_slower else ''}", flush=True)
    if slower:
        print(f"slower beyond noise: {', '.join(slower)}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
