# SPDX-License-Identifier: Apache-2.0
"""A `cloche` server for the tests of this folder, and what they ask of it."""
import collections
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = os.environ["CLOCHE_PROGRAM"]
# By the presets of ctest: what is freed stays for a while then, and all memory has its shadow.
SANITIZED = bool(os.environ.get("CLOCHE_SANITIZED"))
PATIENCE_S = 240  # that a hang is: a cold machine compiles programs before their first step


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Server:
    def __init__(self, *words: str, env=None, ssh: bool = False, port: int = 0, descriptors_limit: int = 0):
        self.port = port or free_port()
        self.ssh_port = free_port() if ssh else 0
        self.folder = tempfile.TemporaryDirectory()
        more = ["--ssh-port", str(self.ssh_port)] if ssh else []
        self.log_path = Path(self.folder.name) / "log"
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [PROGRAM, *words, "--port", str(self.port), *more,
                 "--ssh-host-key", self.folder.name + "/key"],
                stderr=log, env={**os.environ, **(env or {})},
                preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors_limit,) * 2))
                if descriptors_limit else None)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while "listening" not in self.log():
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the server does not start:\n" + self.log())
                time.sleep(0.01)
        except BaseException:
            self.process.kill()
            self.process.wait()
            self.folder.cleanup()
            raise

    def log(self) -> str:
        return self.log_path.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE_S)
        return status

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def ask(self, method: str, path: str, body=None, token=None, headers=None, connection=None):
        """(status, headers, body as bytes)"""
        own = connection or self.connection()
        sent = {"Content-Type": "application/json", **(headers or {})}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        own.request(method, path, body, sent)
        answer = own.getresponse()
        content = answer.read()
        if not connection:
            own.close()
        return answer.status, answer.headers, content

    def json(self, *args, **kwargs):
        status, _, content = self.ask(*args, **kwargs)
        return status, json.loads(content) if content.strip() else None

    def open_files(self) -> list:
        """But for what is opened by and by and stays: the machine code of programs, this process's map of pages."""
        found = []
        for entry in os.scandir(f"/proc/{self.process.pid}/fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(entry))
        return [name for name in found if not re.search(r"\.(code|image|record|lock|part)\b|memory-image|/pagemap$", name)]

    def descriptors(self) -> int:
        return len(self.open_files())

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def thread_names(self) -> dict:
        """How many there are of each name."""
        names = collections.Counter()
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                names[(task / "comm").read_text().strip()] += 1
        return dict(names)

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """0 under a sanitizer, whose memory it would be."""
        if SANITIZED:
            return 0
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


def new_ssh_key(path: str, kind: str = "ed25519") -> str:
    """A private key without a passphrase, in a new file; its public one, as a line."""
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path], check=True)
    return Path(path + ".pub").read_text().strip()


def until(condition, what: str):
    """Waits until it holds: for what ends soon after an answer, such as a thread."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("still not: " + what)
        time.sleep(0.02)
