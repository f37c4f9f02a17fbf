# SPDX-License-Identifier: Apache-2.0
"""`cloche serve` that fails, asked for sessions: by REST, JSON-RPC and SSH, with both engines, apart and among others."""
import http.client
import io
import json
import logging
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import paramiko

HERE = Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "http"), str(HERE.parent / "wires")]
from line_client import WireError  # noqa: E402
from linux_image import IMAGE, LinuxImages  # noqa: E402
from server import Server, free_port  # noqa: E402
from subject import HANG_S, Aborted, Subject, Trouble  # noqa: E402
from websocket import Closed, Refused, Rpc  # noqa: E402

UNREAD = b"the saved state of this session cannot be read"
REFUSED = (1, 2)  # the statuses of a program that says why it does nothing
LIVES = 200  # faults of one program, before it has to show that a killed one has kept all
PASSWORD = "password-of-ssh"
logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # connections that break off are what is asked for


class Serving(Subject):
    """A server, and what is asked of any."""

    words: list = []
    environment: dict = {}
    has_ssh_port = True

    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = None
        self.start()
        self.prepare()

    def prepare(self) -> None:
        """What a server that has just begun is to have."""

    def start(self):
        if self.server:
            self.server.folder.cleanup()
        try:
            self.server = self.make_server()
        except RuntimeError as problem:
            self.log_of_start = str(problem)
            raise
        self.log_of_start = ""

    def make_server(self):
        return Server("serve", *self.words, "--max-sessions", "40", env={**self.environment, **self.faults.env},
                      ssh=self.has_ssh_port)

    def kill(self):
        self.server.process.kill()
        self.server.process.wait()

    def again(self):
        self.kill()
        self.faults.disarm()
        self.start()
        self.prepare()

    def restart(self, use):
        """Ends by a signal and begins anew; the fault may be in the end, in the start or in the first use."""
        self.server.process.send_signal(signal.SIGTERM)
        try:
            if (status := self.server.process.wait(HANG_S)) < 0:
                raise self.ended(status)
        except subprocess.TimeoutExpired as problem:
            raise Trouble("it does not end") from problem
        try:
            self.start()
            use()
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

    def restart_anew(self, use):
        """Where nothing of it is kept."""
        self.restart(use)
        self.faults.disarm()
        self.prepare()

    @property
    def log(self):
        """Of the one that was started last, also where it ended before it listened."""
        return self.log_of_start or self.server.log()

    def end(self):
        if self.server:
            self.kill()
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

    def check(self):
        deadline = time.monotonic() + HANG_S
        while (state := self.ask("GET", "/ready"))[0] != 200:
            if state[0] == 0 and (status := self.server.process.poll()) is not None:
                raise self.ended(status)
            if time.monotonic() > deadline:
                raise Trouble(f"it does not become ready: {state}")
            time.sleep(0.02)


class Served(Serving):
    """Sessions, with a folder of states: by REST, JSON-RPC and SSH."""

    acts = ["create", "run", "code", "upload", "download", "fork", "pause", "restore", "steps", "shell", "put"]
    own_words: list = []

    def begin(self):
        self.lines = []  # that are acknowledged, in the session's file
        self.uploads = [b""]  # what the other one may be
        self.tried, self.life, self.session = 0, 0, None
        super().begin()

    def prepare(self):
        if self.session is None:
            status, made = self.ask("POST", "/sessions", {"ttl": 28800})
            if status != 200:
                raise Trouble(f"there is no session: {made}")
            self.session = json.loads(made)["sessionId"]
            self.command("touch kept up")

    @property
    def words(self):
        return [*self.own_words, "--state-dir", self.folder.name + "/states", "--ssh-password", PASSWORD]

    def start(self):
        super().start()
        self.life = 0

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
        self.restart(lambda: self.command("wc -l kept"))

    def steps(self):
        self.ask("POST", "/run_code", {"code": "print(1)", "language": "python"})

    def by_ssh(self, use):
        """Does something with a connection through a tunnel; what is refused ends it, and is fine."""
        transport = None
        try:
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=HANG_S) as sock:
                sock.sendall(f"CONNECT /sessions/{self.session} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    if not (byte := sock.recv(1)):
                        return
                    head += byte
                if not head.startswith(b"HTTP/1.1 200 "):
                    return
                transport = paramiko.Transport(sock)
                transport.banner_timeout = transport.auth_timeout = transport.channel_timeout = HANG_S
                transport.start_client(timeout=HANG_S)
                transport.auth_password("sandbox", PASSWORD)
                use(transport)
        except TimeoutError as problem:
            raise Trouble("it hangs") from problem
        except (OSError, EOFError, paramiko.SSHException):
            pass
        finally:
            if transport:
                transport.close()

    def shell(self):
        def use(transport):
            channel = transport.open_session(timeout=HANG_S)
            channel.settimeout(HANG_S)
            channel.exec_command("wc -c")
            channel.sendall(b"x" * 5000)
            channel.shutdown_write()
            channel.makefile().read()
        self.by_ssh(use)

    def put(self):
        content = self.draw.randbytes(70_000)
        self.uploads = [*self.uploads, content, b""]

        def use(transport):
            files = paramiko.SFTPClient.from_transport(transport)
            files.get_channel().settimeout(HANG_S)
            files.listdir("/usr")
            files.putfo(io.BytesIO(content), "up.part")
            files.posix_rename("up.part", "up")
            files.open("up").read()
        self.by_ssh(use)

    def check(self):
        super().check()
        self.life += 1
        if self.life % LIVES == 0:
            self.kill()
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


class Linux(Served):
    """The same with boxes of the linux engine."""

    acts = [act for act in Served.acts if act != "steps"]
    own_words = ["--session-engine", "linux", "--session-image", IMAGE]
    images = None

    @classmethod
    def problem(cls) -> str:
        """Why this machine has none; empty: it has."""
        cls.images = cls.images or LinuxImages()
        cls.environment = cls.images.environment
        return cls.images.problem


class Isolated(Served):
    """The same with each owner's sessions in a process of their own, which fails as the first one does."""

    own_words = ["--isolate", "owner"]
    has_ssh_port = False


class Cells(Served):
    """The same with another server, that has sessions as well, and is asked by way of this one."""

    acts = ["create", "run", "fork", "restore", "shell", "there", "list"]

    def begin(self):
        self.other, self.port = None, free_port()
        super().begin()

    @property
    def own_words(self):
        return ["--cell-key", "1", *self.peers(self.other.port if self.other else free_port())]

    def peers(self, port: int) -> list:
        secret = Path(self.folder.name, "secret")
        secret.write_text("a-secret-of-the-cells\n")
        return ["--peers", f"127.0.0.1:{port}", "--peer-token-file", str(secret)]

    def start(self):
        if not self.other:
            self.other = Server("serve", "--cell-key", "2", *self.peers(self.port))
            status, made = self.other.json("POST", "/sessions", {"ttl": 28800})
            assert status == 200, made
            self.there_session = made["sessionId"]
        super().start()

    def make_server(self):
        return Server("serve", *self.words, port=self.port, env=self.faults.env)

    def end(self):
        super().end()
        if self.other:
            self.other.stop()
            self.other.folder.cleanup()

    def there(self):
        path = f"/sessions/{self.there_session}"
        self.ask("POST", path + "/commands", {"command": "echo x >> f; tail -n 1 f"})
        self.ask("POST", path + "/files?path=up&overwrite=true", b"y" * 30_000)
        self.ask("GET", path + "/files?filePath=up")

    def list(self):
        self.ask("GET", "/sessions?limit=5")
        self.ask("GET", "/metrics")
