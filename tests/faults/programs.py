# SPDX-License-Identifier: Apache-2.0
"""Programs that fail in the hands of one who sits before them: `cloche run` and `cloche rpc`."""
import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "http"), str(HERE.parent / "wires")]
from line_client import LineClient, WireError, result_of  # noqa: E402
from server import PROGRAM  # noqa: E402
from subject import HANG_S, Subject, Trouble  # noqa: E402


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

    acts = ["create", "run", "python", "write", "read", "fork", "export", "import_", "snapshot", "checkpoint", "state",
            "packages", "started"]

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

    def snapshot(self):
        self.call("files.write", path="/workspace/s", data="b25l")
        made = self.call("snapshot.create")["id"]
        self.call("files.write", path="/workspace/s", data="dHdv")
        try:
            self.call("snapshot.restore", id=made)
            self.faults.disarm()
            if self.call("files.read", path="/workspace/s")["data"] != "b25l":
                raise Trouble("what was restored is not what there was")
        finally:
            self.call("snapshot.remove", id=made)

    def checkpoint(self):
        """Whether it failed or not, the file is a whole interpreter or none, and this one is the one that it was."""
        path = Path(self.folder.name, "checkpoint")
        path.unlink(missing_ok=True)
        if self.call("python.execute", code="kept = 1")["exitCode"] != 0:
            return
        try:
            self.call("python.checkpoint", path=str(path))
        except WireError:
            if not path.exists():
                raise
        self.call("python.execute", code="kept = 2")
        self.call("python.restore", path=str(path))
        self.faults.disarm()
        done = self.call("python.execute", code="kept")  # or it says that it has ended
        if done["exitCode"] == 0 and done["result"] != "1":
            raise Trouble(f"Python goes on from something else: {done}")

    def state(self):
        if self.call("python.execute", code="kept = 'x' * 100_000")["exitCode"] != 0:
            return
        data = self.call("python.snapshotState")["data"]
        self.call("python.clearState")
        self.call("python.restoreState", data=data)
        self.faults.disarm()
        done = self.call("python.execute", code="len(kept)")
        if done["exitCode"] == 0 and done["result"] != "100000":
            raise Trouble(f"a name has something else: {done}")

    def packages(self):
        name = self.call("sandbox.create", packages=["numpy"])["sandboxId"]
        self.call("packages.install", sandboxId=name, packages=["sympy"])
        done = self.call("python.execute", sandboxId=name, code="import numpy; print(numpy.arange(4).sum())")
        if done["exitCode"] == 0 and done["stdout"] != "6\n":
            raise Trouble(f"a package says something else: {done}")
        self.call("sandbox.destroy", sandboxId=name)

    def started(self):
        made = self.call("command.start", script="cat | wc -c")["command"]
        self.call("command.write", command=made, data="eHl6")
        self.call("command.kill", command=made)

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
