#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an idle sandbox holds, by kind: a table of docs/performance.md.

    bench/density.py PROGRAM [--count N] [--rest SECONDS]

PROGRAM is cloche. Of each kind COUNT sandboxes are made by JSON-RPC, used once and left alone; told is what each adds to
the memory of the program, in KiB, by the kernel's own account: pages of no file (Anonymous of its mappings, by what they
are of), files in memory that it has open, mapped or not, and the tables of all pages (VmPTE): at once, once their memory has been packed, and once
more after two further steps. Beside it the time of the next step, in ms, the median of all: of those that are packed, which
it wakes, and of those that are awake. Resting memories, which belong to no sandbox, are filled before.
"""
import argparse
import collections
import os
import statistics
import time
from pathlib import Path

from rpc_client import Rpc

KINDS = {
    "shell, after `echo`": (None, "run", {"command": "echo hi"}),
    "Python, after `print(1)`": (None, "python.execute", {"code": "print(1)"}),
    "Python, forked from one that lives": ("", "python.execute", {"code": "print(1)"}),
    "Python, after `import numpy`": (["numpy"], "python.execute", {"code": "import numpy; print(numpy.zeros(3).sum())"}),
}
COLUMNS = ("guest memory", "the host's heap", "other", "page tables", "all")


def kind_of(name: str) -> str:
    if name == "[heap]":
        return "the host's heap"
    # Linear memories and their images: files in memory, files of the cache, and pages without a file.
    if "cloche-memory" in name or name.endswith(".image") or not name:
        return "guest memory"
    return "other"


def files_in_memory(pid: int) -> int:
    """KiB of the guests' images and grown memories."""
    blocks = {}
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if "cloche-memory" in os.readlink(entry):
                state = entry.stat()
                blocks[state.st_ino] = state.st_blocks
        except FileNotFoundError:
            continue  # closed meanwhile
    return sum(blocks.values()) // 2


def held(pid: int) -> collections.Counter:
    """KiB by kind."""
    kib: collections.Counter = collections.Counter()
    name = ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            name = " ".join(words[5:]).removesuffix(" (deleted)")
        elif words[0] == "Anonymous:":
            kib[kind_of(name)] += int(words[1])
    kib["guest memory"] += files_in_memory(pid)
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmPTE:"):
            kib["page tables"] = int(line.split()[1])
    kib["all"] = sum(kib.values())
    return kib


def used_once(rpc: Rpc, packages, method: str, params: dict, parent: str | None) -> str:
    if parent is not None:
        made = rpc.call("sandbox.fork", sandboxId=parent)
    else:
        made = rpc.call("sandbox.create", **({"packages": packages} if packages else {}))
    rpc.call(method, sandboxId=made["sandboxId"], **params)
    return made["sandboxId"]


def used_again(rpc: Rpc, method: str, params: dict, sandboxes: list) -> float:
    """The median of how long it takes, in ms."""
    times = []
    for sandbox in sandboxes:
        begin = time.perf_counter()
        rpc.call(method, sandboxId=sandbox, **params)
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1000


def each(rpc: Rpc, count: int, rest_s: float, packages, method: str, params: dict) -> list[tuple[collections.Counter, str]]:
    """What is held, and how long the next step takes: at once, packed, used again and packed."""
    parent = None
    if packages == "":
        packages = None
        parent = used_once(rpc, None, method, params, None)
    few = [used_once(rpc, packages, method, params, parent) for _ in range(20)]
    time.sleep(rest_s)
    before = held(rpc.process.pid)
    many = [used_once(rpc, packages, method, params, parent) for _ in range(count)]
    after = [held(rpc.process.pid)]
    time.sleep(rest_s)
    after.append(held(rpc.process.pid))
    woken_ms, awake_ms = (used_again(rpc, method, params, many) for _ in range(2))
    time.sleep(rest_s)
    after.append(held(rpc.process.pid))
    for sandbox in [*few, *many, *([parent] if parent else [])]:
        rpc.call("sandbox.destroy", sandboxId=sandbox)
    added = [collections.Counter({kind: (each[kind] - before[kind]) / count for kind in COLUMNS}) for each in after]
    return list(zip(added, (f"{awake_ms:.2f}", f"{woken_ms:.2f}", "")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--rest", type=float, default=12)
    options = parser.parse_args()
    # What is measured at once is not packed meanwhile.
    os.environ["CLOCHE_PACK_IDLE_AFTER"] = str(max(1, int(options.rest / 2)))
    print("| an idle sandbox, KiB | " + " | ".join(COLUMNS) + " | the next step, ms |")
    print("|---" * (len(COLUMNS) + 2) + "|")
    for name, (packages, method, params) in KINDS.items():
        with Rpc(options.program) as rpc:
            rows = each(rpc, options.count, options.rest, packages, method, params)
        for row, (kib, step_ms) in zip((name, "the same, packed", "used twice more, packed"), rows):
            print(f"| {row} | " + " | ".join(f"{kib[kind]:.0f}" for kind in COLUMNS) + f" | {step_ms} |", flush=True)


if __name__ == "__main__":
    main()
