# SPDX-License-Identifier: Apache-2.0
"""What a server is asked in its life, at random for SOAK_SECONDS: sessions of both engines with work and packages, forks,
tunnels, files by SFTP, WebSockets, pauses, agents by MCP, programs for E2B with kernels, graded code, sessions of another
cell, clients that go before their answer, and the server itself, which is ended or killed and started anew. What was
answered is there again, and once all sessions are deleted it has the memory, descriptors, threads, processes and temporary
files that it had before.

    SOAK_SECONDS=1200 SOAK_SEED=7 CLOCHE_PROGRAM=build/bin/cloche python3 tests/http/soak_test.py
"""
import collections
import hashlib
import json
import os
import random
import re
import socket
import tempfile
import threading
import unittest
from pathlib import Path

from linux_image import IMAGE, LinuxImages
from server import SANITIZED, Server, free_port, until
from soak_doors import agent, box_of_e2b, files_by_sftp, graded
from websocket import Rpc

SECONDS = float(os.environ.get("SOAK_SECONDS", "5"))
SEED = int(os.environ.get("SOAK_SEED", random.randrange(1 << 32)))
CLIENTS = 4
SESSIONS_OF_A_CLIENT = 5
LIFE_S = 40  # of a server, at most
MEMORY_KIB = 48 << 10  # by which its private memory may have grown: what allocators keep
# Interpreters from which others go on, of the linux engine and of the other one.
IMAGE_FILES = ["/memfd:cloche (deleted)", "/memfd:cloche-memory (deleted)"]
IMAGES = 20  # of interpreters that the next sandboxes go on from: six of the linux engine, and of the packages that were asked for
ENGINES = 3  # of sessions, of agents, of programs for E2B
THREADS = 3 * CLIENTS * ENGINES  # the same: what pools keep of a busy moment, where the first part was a calm one
ACTIONS = ["create", "run", "code", "upload", "check", "pause", "tunnel", "terminal", "fork", "abandon", "delete",
           "nonsense", "agent", "box", "grade", "elsewhere"]
WITHOUT_SESSION = ["create", "nonsense", "agent", "box", "grade", "elsewhere"]


def private_kib(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_"))


def processes_below(pid: int) -> int:
    """That it has begun, and those that they have."""
    tasks = Path(f"/proc/{pid}/task")
    children = [int(child) for task in tasks.glob("*/children") for child in task.read_text().split()]
    return len(children) + sum(map(processes_below, children))


class Client:
    """One that asks for this and that in sessions of its own, and knows what must be in their files."""

    def __init__(self, world, number: int):
        self.world, self.number = world, number
        self.token = f"token-of-client-{number}"
        self.draw = random.Random(SEED * 1000 + number)
        self.files = {}  # session: what was written and answered; None: what is in it is not known
        self.paused = set()
        self.pending = None  # the session that it is about, or "" for a new one, while something is asked

    def ask(self, method, path, body=None):
        return self.world.server.json(method, path, body, token=self.token)

    def act(self, name="") -> None:
        """One thing, which one is drawn."""
        name = name or self.draw.choice(ACTIONS + ["run"] * 4)
        session = self.draw.choice(sorted(self.files)) if self.files else ""
        if not session and name not in WITHOUT_SESSION:
            name = "create"
        if session in self.paused and name not in [*WITHOUT_SESSION, "pause", "delete"]:
            name = "pause"
        self.pending = "" if name == "create" else None if name in WITHOUT_SESSION else session
        getattr(self, name)(session)
        self.pending = None

    def create(self, _):
        if len(self.files) >= SESSIONS_OF_A_CLIENT:
            return
        sandbox = self.draw.choice(self.world.sandboxes)
        status, made = self.ask("POST", "/sessions", {"metadata": {"client": self.number}, "sandbox": sandbox})
        assert status == 200, made
        self.files[made["sessionId"]] = ""

    def run(self, session):
        text = f"{self.draw.getrandbits(32):x}\n"
        before, self.files[session] = self.files[session], None  # what is not answered may be done all the same
        command = f"echo {text.strip()} >> kept; seq 200 | sort -r | tail -1 > scratch; sleep 0.01 & wc -c kept"
        status, result = self.ask("POST", f"/sessions/{session}/commands", {"command": command})
        assert status == 200 and result["exitCode"] == 0, (status, result)
        if before is not None:
            self.files[session] = before + text

    def code(self, session):
        status, result = self.ask("POST", f"/sessions/{session}/code",
                                  {"code": "print(sum(range(10)))", "language": "python"})
        assert status == 200 and result["stdout"] == "45\n", (status, result)

    def upload(self, session):
        content = self.draw.randbytes(self.draw.choice([0, 1, 5000, 300_000]))
        status, _, answer = self.world.server.ask("POST", f"/sessions/{session}/files?path=up&overwrite=true",
                                                  content, token=self.token)
        assert status == 201, answer
        status, _, back = self.world.server.ask("GET", f"/sessions/{session}/files?filePath=up", token=self.token)
        assert status == 200 and back == content, (status, len(back), len(content))

    def check(self, session):
        status, result = self.ask("POST", f"/sessions/{session}/commands", {"command": "cat kept 2>/dev/null; true"})
        assert status == 200, (status, result)
        wanted = self.files[session]
        if wanted is None:  # of what was not answered
            self.files[session] = result["stdout"]
        else:
            assert result["stdout"] == wanted, (session, result["stdout"], wanted)

    def pause(self, session):
        action = "resume" if session in self.paused else "pause"
        status, answer = self.ask("POST", f"/sessions/{session}/{action}")
        assert status == 200, (status, answer)
        (self.paused.remove if action == "resume" else self.paused.add)(session)

    def connected(self, session) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.world.server.port), timeout=60)
        sock.sendall(f"CONNECT /sessions/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     f"Authorization: Bearer {self.token}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = sock.recv(1)
            if not byte:
                raise ConnectionResetError("the tunnel has ended")
            head += byte
        assert head.startswith(b"HTTP/1.1 200 "), head
        return sock

    def tunnel(self, session):
        import paramiko
        try:
            with self.connected(session) as sock:
                transport = paramiko.Transport(sock)
                try:
                    transport.connect(username="sandbox", password=self.token)
                    channel = transport.open_session()
                    channel.exec_command("wc -c; exit 3")
                    channel.sendall(b"x" * 10_000)
                    channel.shutdown_write()
                    assert channel.makefile().read() == b"10000\n"
                    assert channel.recv_exit_status() == 3
                    files_by_sftp(transport, self.draw.randbytes(60_000))
                finally:
                    transport.close()
        except (paramiko.SSHException, EOFError) as error:
            raise ConnectionResetError(str(error)) from error

    def terminal(self, session):
        rpc = Rpc(self.world.server.port, self.token)
        try:
            rpc.call("create", sessionId=session)
            assert rpc.call("ping")["ok"]
        finally:
            rpc.socket.close()

    def fork(self, session):
        rpc = Rpc(self.world.server.port, self.token)
        try:
            made = rpc.call("session.fork", sessionId=session, count=2)["sessions"]
        finally:
            rpc.socket.close()
        for fork in made:
            status, result = self.ask("POST", f"/sessions/{fork['sessionId']}/commands", {"command": "echo x >> kept"})
            assert status == 200, result
            assert self.ask("DELETE", f"/sessions/{fork['sessionId']}")[0] == 200

    def abandon(self, session):
        """Asks, and goes before the answer, or in the midst of the question."""
        body = json.dumps({"command": "sleep 30", "timeout": 2})
        with socket.create_connection(("127.0.0.1", self.world.server.port), timeout=60) as sock:
            sock.sendall(f"POST /sessions/{session}/commands HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                         f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n{body}".encode()[:-self.draw.choice([0, 0, 5]) or None])
        self.check(session)

    def delete(self, session):
        status, answer = self.ask("DELETE", f"/sessions/{session}")
        assert status == 200, (status, answer)
        del self.files[session]
        self.paused.discard(session)

    def agent(self, _):
        agent(self.world.server, self.token, f"{self.draw.getrandbits(32):x}")

    def box(self, _):
        box_of_e2b(self.world.server, self.token, f"{self.draw.getrandbits(32):x}")

    def grade(self, _):
        graded(self.ask)

    def elsewhere(self, _):
        """A session of the other cell, asked by way of this one."""
        status, made = self.world.other.json("POST", "/sessions", {}, token=self.token)
        assert status == 200, made
        path = f"/sessions/{made['sessionId']}"
        status, result = self.ask("POST", path + "/commands", {"command": "echo there; head -c 100000 /dev/zero | wc -c"})
        assert status == 200 and result["stdout"] == "there\n100000\n", (status, result)
        assert self.ask("DELETE", path)[0] == 200

    def nonsense(self, _):
        with socket.create_connection(("127.0.0.1", self.world.server.port), timeout=60) as sock:
            sock.sendall(self.draw.randbytes(200))


class World:
    def __init__(self, folder: str):
        self.draw = random.Random(SEED)
        self.states, self.temporary = Path(folder, "states"), Path(folder, "tmp")
        self.temporary.mkdir()
        self.tokens = Path(folder, "tokens")
        self.clients = [Client(self, number) for number in range(CLIENTS)]
        self.tokens.write_text("".join(f"client{c.number} {hashlib.sha256(c.token.encode()).hexdigest()}\n"
                                       for c in self.clients))
        self.server = self.other = None
        self.port = free_port()
        self.secret = Path(folder, "secret")
        self.secret.write_text("a-secret-of-the-cells\n")
        self.images = LinuxImages()
        print(f"the linux engine: {self.images.problem or 'is asked too'}", flush=True)
        self.sandboxes = [{}, {}, {"packages": ["numpy"]}]
        if not self.images.problem:
            self.sandboxes += [{"engine": "linux", "image": IMAGE}] * 2

    def start_other(self) -> Server:
        """Another cell, which stays; both know each other. Its sessions end with their clients' interest in them."""
        self.other = Server("serve", *self.words_of_cell(2, self.port), "--idle-timeout", "30")
        return self.other

    def words_of_cell(self, key: int, port_of_other: int) -> list:
        return ["--tokens-file", str(self.tokens), "--cell-key", str(key), "--peers", f"127.0.0.1:{port_of_other}",
                "--peer-token-file", str(self.secret)]

    def start(self, boxes_that_wait: str = "4"):
        self.server = Server("serve", *self.words_of_cell(1, self.other.port), "--state-dir", str(self.states), "--drain", "1",
                             "--allow-session-engine", "linux", "--allow-session-image", IMAGE, port=self.port,
                             env={"TMPDIR": str(self.temporary), "CLOCHE_READY_BOXES": boxes_that_wait, **self.images.environment})

    def live(self, seconds: float, is_killed: bool) -> None:
        """The clients act that long; where it `is_killed` they lose their server in the midst of it."""
        problems = []
        over, killed = threading.Event(), threading.Event()

        def go_on(client):
            while not over.is_set() and not problems:
                try:
                    client.act()
                except Exception as error:  # pylint: disable=broad-except
                    # A killed server owes an answer, or its end. What was on its way is what its client knows last.
                    if killed.is_set():
                        return
                    problems.append((client.number, client.pending, error))
                    raise

        threads = [threading.Thread(target=go_on, args=(client,)) for client in self.clients]
        for thread in threads:
            thread.start()
        over.wait(seconds)
        if is_killed:
            killed.set()
            self.server.process.kill()
            self.server.process.wait()
        over.set()
        for thread in threads:
            thread.join()
        assert not problems, problems

    def recover(self) -> None:
        """What a client knows is there; what was on its way may be."""
        for client in self.clients:
            status, page = client.ask("GET", "/sessions?limit=100")
            assert status == 200, page
            there = {session["sessionId"]: session["status"] for session in page["sessions"]}
            for session in list(client.files):
                if session == client.pending:
                    client.files[session] = None
                if session not in there:
                    assert session == client.pending, f"{session} is lost"
                    del client.files[session]
            for session in there:
                assert session in client.files or client.pending is not None, f"{session} was deleted"
                client.files.setdefault(session, None)
            client.paused = {session for session, status in there.items() if status == "paused"}
            client.pending = None
            for session in client.files:
                if session not in client.paused:
                    client.check(session)

    def delete_all(self) -> None:
        for client in self.clients:
            for session in list(client.files):
                client.delete(session)
            assert client.ask("GET", "/sessions")[1]["total"] == 0

    def gauge(self, name: str) -> float:
        page = self.server.ask("GET", "/metrics")[2].decode()
        return float(re.search(rf"^{name} (\S+)$", page, re.M)[1])

    def figures(self) -> dict:
        """With no session, once what ends by itself has ended."""
        for name in ["cloche_sessions", "cloche_commands_running", "cloche_worker_threads"]:
            until(lambda name=name: self.gauge(name) == 0, f"{name} is 0")
        seen = collections.deque(maxlen=10)

        def has_settled():
            seen.append((self.server.descriptors(), self.server.threads()))
            return len(seen) == seen.maxlen and len(set(seen)) == 1
        until(has_settled, "descriptors and threads stay as they are")
        files = sorted(self.server.open_files())
        images = [name for name in files if name in IMAGE_FILES]
        return {"descriptors": len(files) - len(images), "images": len(images), "threads": seen[0][1],
                "processes": processes_below(self.server.process.pid), "memory_kib": private_kib(self.server.process.pid),
                "temporary": sorted(path.name for path in self.temporary.iterdir()),
                "open": files, "names": self.server.thread_names()}


class Soak(unittest.TestCase):
    def test_nothing_is_lost_and_nothing_grows(self):
        print(f"SOAK_SEED={SEED} SOAK_SECONDS={SECONDS:g}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            world = World(folder)
            other = world.start_other()
            self.addCleanup(other.folder.cleanup)
            self.addCleanup(other.stop)
            ends = ["killed", "ended", "measured"] * max(1, round(SECONDS / LIFE_S / 3))
            world.draw.shuffle(ends)
            for end in ends:
                world.start("0" if end == "measured" else "4")  # those end by themselves a minute later
                self.addCleanup(world.server.folder.cleanup)
                self.addCleanup(world.server.stop)
                world.recover()
                self.life(world, end, SECONDS / len(ends))

    def life(self, world, end: str, seconds: float) -> None:
        if end != "measured":
            world.live(seconds, is_killed=end == "killed")
            if end == "ended":
                self.assertEqual(world.server.stop(), 0, world.server.log()[-3000:])
            return
        for client in world.clients:  # each way was gone once: what is kept for the next time is there
            client.act("create")
            for name in ACTIONS:
                client.act(name)
        world.live(seconds / 4, is_killed=False)
        world.delete_all()
        before = world.figures()
        world.live(seconds * 3 / 4, is_killed=False)
        world.delete_all()
        after = world.figures()
        for figures in (before, after):
            print({name: value for name, value in figures.items() if name not in ["open", "names"]}, flush=True)
        self.assertLessEqual(after["descriptors"], before["descriptors"], (before["open"], after["open"]))
        self.assertLessEqual(after["threads"], before["threads"] + THREADS, (before["names"], after["names"]))
        self.assertLessEqual(after["images"], IMAGES)
        self.assertLessEqual(after["processes"], before["processes"])
        if not SANITIZED:
            self.assertLessEqual(after["memory_kib"], before["memory_kib"] + MEMORY_KIB)
        self.assertEqual(after["temporary"], before["temporary"])
        self.assertEqual(list(world.states.rglob("*.session")), [])
        self.assertEqual(world.server.stop(), 0, world.server.log()[-3000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
