# SPDX-License-Identifier: Apache-2.0
"""A server with `--isolate`, and which of its workers does what."""
import contextlib
import hashlib
import re
import tempfile
import threading
from pathlib import Path

from server import Server, until

ALICE, BOB = "test-token-of-alice", "test-token-of-bob"


def children(pid: int) -> list:
    """Not by its file `children`, which leaves some out while others end."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


def is_there(pid: int) -> bool:
    """Whether it runs: one that has ended and is not waited for yet does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


class Isolated(Server):
    """A server whose workers can be told from the others."""

    def __init__(self, *words, by="owner", **more):
        self.tokens = tempfile.NamedTemporaryFile("w")
        for name, token in [("alice", ALICE), ("bob", BOB)]:
            print(name, hashlib.sha256(token.encode()).hexdigest(), file=self.tokens)
        self.tokens.flush()
        super().__init__("serve", "--isolate", by, "--tokens-file", self.tokens.name, *words, **more)

    def spawner(self) -> int:
        """Which gives itself its name, a moment after the server may answer already."""
        named = lambda: [pid for pid in children(self.process.pid)
                         if Path(f"/proc/{pid}/comm").read_text() == "cloche-spawner\n"]
        until(named, "the spawner has its name")
        [pid] = named()
        return pid

    def workers(self) -> list:
        return [pid for pid in children(self.spawner()) if is_there(pid)]

    def create(self, token=ALICE) -> str:
        status, session = self.json("POST", "/sessions", {}, token=token)
        assert status == 200, session
        return session["sessionId"]

    def run(self, session, command, token=ALICE):
        return self.json("POST", f"/sessions/{session}/commands", {"command": command}, token=token)

    def output(self, session, command, token=ALICE) -> str:
        status, result = self.run(session, command, token)
        assert status == 200, result
        return result["stdout"]

    def stop_beside_a_command(self, session) -> tuple:
        """Stops it while a second's command that says "done" runs: how it ended, and what the command's client got."""
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(
            self.run(session, "touch started; sleep 1; echo done")))
        waiting.start()
        until(lambda: self.ask("GET", f"/sessions/{session}/files?filePath=started", token=ALICE)[0] == 200, "the command runs")
        ended = self.stop()
        waiting.join()
        [answer] = answers
        return ended, answer

    def worker_of(self, session, token=ALICE) -> int:
        """Which of them runs something just now: the only one that uses more of the CPU."""
        before = {pid: ticks(pid) for pid in self.workers()}
        self.output(session, "for ((i = 0; i < 200000; ++i)); do :; done", token)
        return max(before, key=lambda pid: ticks(pid) - before[pid])

    def figure(self, name: str) -> float:
        page = self.ask("GET", "/metrics")[2].decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", page, re.M)[1])


def ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
