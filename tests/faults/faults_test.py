# SPDX-License-Identifier: Apache-2.0
"""Each call to the host fails once (faults.cc): files, memory, threads, descriptors, in whatever
`cloche run`, `rpc` and `serve` do in their lives. None crashes or hangs, what was answered is kept,
and the next request is as if nothing had been.

What there is to fail is counted first, then drawn from, for FAULTS_SECONDS for each program, at most
until all have failed once:

    make faults FAULTS_SECONDS=600 FAULTS_SEED=7

FAULTS_ONLY=allocation is about `operator new` alone, of which there are tens of thousands. One that
fails may end the program, by SIGABRT and nothing else: what was answered is kept then too.
"""
import base64
import collections
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "http"), str(HERE.parent / "wires")]
from faults import KINDS, Faults  # noqa: E402
from line_client import LineClient, WireError, result_of  # noqa: E402
from server import PROGRAM, Server, until  # noqa: E402
from websocket import Closed, Refused, Rpc  # noqa: E402

SECONDS = float(os.environ.get("FAULTS_SECONDS", "8"))
SEED = int(os.environ.get("FAULTS_SEED", random.randrange(1 << 32)))
ONLY = os.environ.get("FAULTS_ONLY", "")  # "write" or "write:run": faults of that kind, in that act
HANG_S = 60
UNREAD = b"the saved state of this session cannot be read"
REFUSED = (1, 2)  # the statuses of a program that says why it does nothing
LIVES = 200  # faults of one program, before it has to show that a killed one has kept all


class Trouble(Exception):
    """What must not be."""


class Aborted(Exception):
    """It has ended, as it does where it cannot go on without memory."""


def stack(log: str) -> str:
    """Where the last call failed, with the names of functions."""
    lines = log.rpartition("-- a call fails here:\n")[2].splitlines()[2:26]
    places = [re.match(r"(\S+?)\((?:[^)]*?)\+(0x[0-9a-f]+)\) ?\[", line) for line in lines]
    own = [place[2] for place in places if place and Path(place[1]) == Path(PROGRAM)]
    told = subprocess.run(["addr2line", "-sfCiape", PROGRAM, *own], capture_output=True, text=True).stdout
    return "\n".join([line for line in lines if PROGRAM not in line] + [told])


class Subject:
    """A program whose calls fail, and what it is asked."""

    acts: list = []

    def __init__(self, faults: Faults, draw: random.Random):
        self.faults, self.draw = faults, draw

    def begin(self) -> None: ...
    def end(self) -> None: ...
    def again(self) -> None:
        """After it has ended by itself."""

    @staticmethod
    def ended(status: int) -> Exception:
        return Aborted() if status == -signal.SIGABRT else Trouble(f"it has ended: {status}")

    def act(self, name: str) -> None:
        """Does it; what is refused is fine, and noted where it matters."""
        getattr(self, name)()

    def check(self) -> None:
        """Without faults: it lives, and has what it has to have."""


class Run(Subject):
    """`cloche run`, a process a fault: its start, its files, its output."""

    acts = ["shell", "python", "copies"]

    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.log = ""

    def end(self):
        self.folder.cleanup()

    def run(self, words, wanted):
        try:
            done = subprocess.run([PROGRAM, "run", *words], capture_output=True, timeout=HANG_S,
                                  env={**os.environ, **self.faults.env})
        except subprocess.TimeoutExpired as problem:
            self.log = (problem.stderr or b"").decode(errors="replace")
            raise Trouble("it hangs") from problem
        self.log = done.stderr.decode(errors="replace")
        if done.returncode < 0:
            raise self.ended(done.returncode)
        if done.returncode == 0 and done.stdout != wanted:
            raise Trouble(f"it printed {done.stdout!r}")
        return done.returncode

    def shell(self):
        self.run(["set -eo pipefail; seq 3000 | sort -rn | tail -n 1; echo x > f; cat f"], b"1\nx\n")

    def python(self):
        self.run(["--", "python3", "-c", "print(sum(range(10)))"], b"45\n")

    def copies(self):
        out = Path(self.folder.name, "out")
        out.unlink(missing_ok=True)
        status = self.run(["--out", f"/tmp/made:{out}", "head -c 100000 /dev/zero > /tmp/made"], b"")
        if status == 0 and out.read_bytes() != bytes(100_000):
            raise Trouble("the copy is not what it was made from")
        if any(path != out for path in Path(self.folder.name).iterdir()):
            raise Trouble("a part of a copy is left")


class Lines(Subject):
    """`cloche rpc`: one process as long as it lives."""

    acts = ["create", "run", "python", "write", "read", "fork", "export", "import_"]

    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.client = self.start()
        self.exported = None

    def start(self):
        client = LineClient.__new__(LineClient)
        client.last, client.rest = 0, b""
        self.log_path = Path(self.folder.name, "log")
        with open(self.log_path, "w") as log:
            client.process = subprocess.Popen([PROGRAM, "rpc"], stdin=subprocess.PIPE,
                                              stdout=subprocess.PIPE, stderr=log,
                                              env={**os.environ, **self.faults.env})
        self.client = client
        self.call("create")
        return client

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def end(self):
        self.client.close()
        self.folder.cleanup()

    def again(self):
        self.client.close()
        self.start()

    def call(self, method, **params):
        self.client.last += 1
        try:
            self.client.send_message(id=self.client.last, method=method, params=params)
            while True:
                line = self.client.read_line()
                if not line:
                    break
                answer = json.loads(line)
                if answer.get("id") == self.client.last:
                    return result_of(answer)
                if "id" in answer and answer["id"] is None:
                    raise WireError(**answer["error"])
        except BrokenPipeError:
            pass
        try:
            self.client.process.wait(HANG_S)
        except subprocess.TimeoutExpired as problem:
            raise Trouble("it does not end") from problem
        if self.client.process.returncode == 0:
            self.start()  # it could not write an answer, and has ended as if nobody read them
            raise WireError(1, "the client is lost")
        raise self.ended(self.client.process.returncode)

    def act(self, name):
        try:
            super().act(name)
        except WireError:
            pass
        except AssertionError as problem:
            raise Trouble(str(problem)) from problem

    def create(self):
        name = self.call("sandbox.create")["sandboxId"]
        self.call("run", sandboxId=name, command="echo hi | cat")
        self.call("sandbox.destroy", sandboxId=name)

    def run(self):
        self.call("run", command="seq 300 | sort -rn | tail -n 1")

    def python(self):
        self.call("python.execute", code="print(6 * 7)")

    def write(self):
        content = self.draw.randbytes(50_000)
        self.call("files.write", path="/workspace/w", data=base64.b64encode(content).decode())
        self.faults.disarm()
        if base64.b64decode(self.call("files.read", path="/workspace/w")["data"]) != content:
            raise Trouble("what was written is not there")

    def read(self):
        self.call("files.list", path="/usr/bin", detail=True)
        self.call("files.tarOut", path="/etc")

    def fork(self):
        name = self.call("sandbox.fork")["sandboxId"]
        self.call("run", sandboxId=name, command="echo fork > f; cat f")
        self.call("sandbox.destroy", sandboxId=name)

    def export(self):
        path = Path(self.folder.name, "exported")
        self.call("files.write", path="/workspace/e", data="eHl6")
        try:
            self.call("persistence.export", path=str(path))
        except WireError:
            if not path.exists():
                raise
        self.faults.disarm()  # whether it failed or not, the file is whole
        name = self.call("sandbox.create")["sandboxId"]
        self.call("persistence.import", sandboxId=name, path=str(path))
        if self.call("files.read", sandboxId=name, path="/workspace/e")["data"] != "eHl6":
            raise Trouble("what was exported is not what there was")
        self.call("sandbox.destroy", sandboxId=name)

    def import_(self):
        data = self.call("persistence.export")["data"]
        self.call("persistence.import", data=data)

    def check(self):
        try:
            for box in self.call("sandbox.list")["sandboxes"]:
                if box["sandboxId"] != "main":
                    self.call("sandbox.destroy", sandboxId=box["sandboxId"])
            done = self.call("run", command="echo alive")
            if done["stdout"] != "alive\n":
                raise Trouble(f"after it: {done}")
        except WireError as problem:
            raise Trouble(f"after it: {problem}") from problem


class Served(Subject):
    """`cloche serve` with a folder of states."""

    acts = ["create", "run", "code", "upload", "download", "fork", "pause", "restore", "steps"]

    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.lines = []  # that are acknowledged, in the session's file
        self.uploads = [b""]  # what the other one may be
        self.tried, self.life, self.server = 0, 0, None
        self.start()
        made = self.server.json("POST", "/sessions", {"ttl": 28800})[1]
        self.session = made["sessionId"]
        self.command("touch kept up")

    def start(self):
        if self.server:
            self.server.folder.cleanup()
        self.server = Server("serve", "--state-dir", self.folder.name + "/states",
                             "--max-sessions", "40", env=self.faults.env)
        self.life = 0

    def again(self):
        self.server.process.kill()
        self.server.process.wait()
        self.faults.disarm()
        self.start()

    @property
    def log(self):
        return self.server.log()

    def end(self):
        if self.server:
            self.server.process.kill()
            self.server.process.wait()
            self.server.folder.cleanup()
        self.folder.cleanup()

    def ask(self, *words, **more):
        """(status, body); (0, b"") where there is no answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=HANG_S)
        try:
            status, _, body = self.server.ask(*words, connection=connection, **more)
            return status, body
        except TimeoutError as problem:
            raise Trouble("it hangs") from problem
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def command(self, command):
        return self.ask("POST", f"/sessions/{self.session}/commands", {"command": command})

    def create(self):
        status, body = self.ask("POST", "/sessions", {})
        if status == 200:
            name = json.loads(body)["sessionId"]
            self.ask("POST", f"/sessions/{name}/commands", {"command": "echo hi | cat"})
            self.ask("DELETE", f"/sessions/{name}")

    def run(self):
        self.tried += 1
        line = f"line {self.tried}"
        status, body = self.command(f"echo {line} >> kept && seq 100 | sort | tail -n 1")
        if status == 200 and b'"exitCode":0,"stdout":"99\\n"' in body:
            self.lines.append(line)

    def code(self):
        self.ask("POST", f"/sessions/{self.session}/code", {"code": "print(6 * 7)", "language": "python"})

    def upload(self):
        content = self.draw.randbytes(40_000)
        status, _ = self.ask("POST", f"/sessions/{self.session}/files?path=up&overwrite=true", content)
        self.uploads = [content] if status == 201 else [*self.uploads, content, b""]

    def download(self):
        self.ask("GET", f"/sessions/{self.session}/files?filePath=up")
        self.ask("GET", "/sessions?limit=5")
        self.ask("GET", "/metrics")

    def fork(self):
        try:
            with Rpc(self.server.port) as rpc:
                for made in rpc.call("session.fork", sessionId=self.session, count=1)["sessions"]:
                    self.ask("POST", f"/sessions/{made['sessionId']}/commands", {"command": "cat kept | wc -l"})
                    self.ask("DELETE", f"/sessions/{made['sessionId']}")
        except TimeoutError as problem:
            raise Trouble("it hangs") from problem
        except (OSError, Closed, Refused, WireError):
            pass

    def pause(self):
        self.ask("POST", f"/sessions/{self.session}/pause")
        self.ask("POST", f"/sessions/{self.session}/resume")

    def restore(self):
        """Ends by a signal and begins anew; the fault may be in the end, in the start or in the first use."""
        self.server.process.send_signal(signal.SIGTERM)
        try:
            if (status := self.server.process.wait(HANG_S)) < 0:
                raise self.ended(status)
        except subprocess.TimeoutExpired as problem:
            raise Trouble("it does not end") from problem
        try:
            self.start()
            self.command("wc -l kept")
            status, log = self.server.process.poll(), self.log
        except RuntimeError as problem:
            status, log = REFUSED[0], str(problem)
        if status in REFUSED:  # it has said why it does not start
            if "terminate called" in log:
                raise Aborted
            if not log.strip().splitlines()[-1].startswith("cloche"):
                raise Trouble("it does not start: " + log[-2000:])
            self.faults.disarm()
            self.start()

    def steps(self):
        self.ask("POST", "/run_code", {"code": "print(1)", "language": "python"})

    def check(self):
        deadline = time.monotonic() + HANG_S
        while (state := self.ask("GET", "/ready"))[0] != 200:
            if state[0] == 0 and (status := self.server.process.poll()) is not None:
                raise self.ended(status)
            if time.monotonic() > deadline:
                raise Trouble(f"it does not become ready: {state}")
            time.sleep(0.02)
        self.life += 1
        if self.life % LIVES == 0:
            self.server.process.kill()
            self.server.process.wait()
            self.start()
        self.ask("POST", f"/sessions/{self.session}/resume")
        status, kept = self.ask("GET", f"/sessions/{self.session}/files?filePath=kept")
        if status == 500 and UNREAD in kept:  # told, and left alone: it is there after a restart
            self.again()
            return self.check()
        if status != 200:
            raise Trouble(f"the session is lost: {status} {kept[:200]!r}")
        there = iter(kept.decode().splitlines())
        if not all(line in there for line in self.lines[-50:]):
            raise Trouble("what a command wrote is lost")
        status, up = self.ask("GET", f"/sessions/{self.session}/files?filePath=up")
        if status != 200 or up not in self.uploads:
            raise Trouble(f"an upload is lost: {status}, {len(up)} bytes")
        self.uploads = [up]


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


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as at Ctrl-C nothing is left running
    unittest.main()
