# SPDX-License-Identifier: Apache-2.0
"""Each call to the host fails once (faults.cc): files, memory, threads, descriptors, in whatever
`cloche run`, `rpc` and `serve` do in their lives, the latter at all its doors, with both engines, in processes of their own and
among others of its kind. None crashes or hangs, what was answered is kept, and the next request is as if nothing had been.
The programs that make boxes (cloche-warden) have no loader that would take faults.cc in: what fails is the server's side.

What there is to fail is counted first, then drawn from, for FAULTS_SECONDS for each program, at most
until all have failed once:

    make faults FAULTS_SECONDS=600 FAULTS_SEED=7

FAULTS_ONLY=allocation is about `operator new` alone, of which there are tens of thousands. One that
fails may end the program, by SIGABRT and nothing else: what was answered is kept then too.
"""
import collections
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from doors import Agents, E2b
from faults import KINDS, Faults
from programs import PROGRAM, Lines, Run
from served import Cells, Isolated, Linux, Served
from subject import Aborted, Trouble

SECONDS = float(os.environ.get("FAULTS_SECONDS", "8"))
SEED = int(os.environ.get("FAULTS_SEED", random.randrange(1 << 32)))
ONLY = os.environ.get("FAULTS_ONLY", "")  # "write" or "write:run": faults of that kind, in that act


def stack(log: str) -> str:
    """Where the last call failed, with the names of functions."""
    lines = log.rpartition("-- a call fails here:\n")[2].splitlines()[2:26]
    places = [re.match(r"(\S+?)\((?:[^)]*?)\+(0x[0-9a-f]+)\) ?\[", line) for line in lines]
    own = [place[2] for place in places if place and Path(place[1]) == Path(PROGRAM)]
    told = subprocess.run(["addr2line", "-sfCiape", PROGRAM, *own], capture_output=True, text=True).stdout
    return "\n".join([line for line in lines if PROGRAM not in line] + [told])


class FaultTest(unittest.TestCase):
    def setUp(self):
        self.faults = Faults()
        self.addCleanup(self.faults.close)
        self.draw = random.Random(SEED)

    def counted(self, subject, act) -> collections.Counter:
        """What it calls at least, of each kind, in one go."""
        most = collections.Counter()
        for _ in range(3):
            before = self.faults.counts()
            subject.act(act)
            subject.check()
            most |= collections.Counter({kind: count - before[kind]
                                         for kind, count in self.faults.counts().items()})
        return most

    def places(self, subject) -> dict:
        """Of each kind what there is to fail, in any order."""
        by_kind = {kind: [] for kind in KINDS}
        for act in subject.acts:
            for kind, count in self.counted(subject, act).items():
                if ONLY in [kind, f"{kind}:{act}"] or not ONLY and kind != "allocation":
                    by_kind[kind] += [(act, before) for before in range(count)]
        for places in by_kind.values():
            self.draw.shuffle(places)
        return by_kind

    def fail_once(self, subject, act, kind, before) -> str:
        """Whether the call has "failed", was "missed", or the program has "aborted"."""
        try:
            self.faults.arm(kind, before)
            try:
                subject.act(act)
            finally:
                failed = self.faults.disarm()
            subject.check()
            return "failed" if failed else "missed"
        except AssertionError as problem:  # of a client: it waits for too long
            raise Trouble(str(problem)) from problem
        except Aborted:
            if kind != "allocation":
                raise Trouble("it aborts") from None
            subject.again()
            subject.check()
            return "aborted"

    def survives(self, make) -> None:
        subject = make(self.faults, self.draw)
        found, told = [], collections.Counter()
        subject.begin()
        try:
            by_kind = self.places(subject)
            deadline = time.monotonic() + SECONDS
            # Few kinds have most of the calls: each has its turn.
            while any(by_kind.values()) and time.monotonic() < deadline and len(found) < 20:
                for kind in [kind for kind in KINDS if by_kind[kind]]:
                    act, before = by_kind[kind].pop()
                    try:
                        told[kind, self.fail_once(subject, act, kind, before)] += 1
                    except Trouble as problem:
                        found.append(f"{act}, {kind} {before}: {problem}\n{stack(subject.log)}")
                        self.faults.disarm()
                        subject.end()
                        subject.begin()
        finally:
            subject.end()
        left = sum(map(len, by_kind.values()))
        print(f"{make.__name__}: seed {SEED}, {left} places left,",
              ", ".join(f"{count} {kind} {how}" for (kind, how), count in sorted(told.items())),
              file=sys.stderr)
        if found:
            self.fail(f"{len(found)} troubles, FAULTS_SEED={SEED}:\n\n" + "\n\n".join(found))
        self.assertTrue(any(how == "failed" for _, how in told))

    def test_run(self):
        self.survives(Run)

    def test_rpc(self):
        self.survives(Lines)

    def test_serve(self):
        self.survives(Served)

    def test_linux(self):
        if problem := Linux.problem():
            self.skipTest(problem)
        self.survives(Linux)

    def test_isolated(self):
        self.survives(Isolated)

    def test_cells(self):
        self.survives(Cells)

    def test_mcp(self):
        self.survives(Agents)

    def test_e2b(self):
        self.survives(E2b)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as at Ctrl-C nothing is left running
    unittest.main()
