#!/usr/bin/env python3
"""Measures the doors of `cloche serve`: steps against the Python package session-based-sandbox, SSH against
OpenSSH's own sshd, both in the same run where they are installed.

    bench/sessions.py PROGRAM [--sbs COMMAND] [--seconds N]

PROGRAM is cloche; COMMAND the package's own `sbs` (pip install session-based-sandbox into a venv). What is
absent is left out. Throughput is of one client on one connection, and of eight.
"""
import argparse
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Program:
    """A server until the end of the `with`."""

    def __init__(self, words, port):
        self.port = port
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit(f"{words[0]} does not start") from None
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class Connection:
    """One of HTTP, which costs the client as little as Python can: it is not what is measured."""

    def __init__(self, port: int):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, method: str, path: str, body=None) -> bytes:
        content = b"" if body is None else json.dumps(body).encode()
        self.sock.sendall(b"%s %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                          b"Content-Length: %d\r\n\r\n%s" % (method.encode(), path.encode(),
                                                           len(content), content))
        answer = self.sock.recv(65536)
        while (end := answer.find(b"\r\n\r\n")) < 0:
            answer += self.sock.recv(65536)
        head = answer[:end].lower()
        at = head.find(b"content-length:")
        size = int(head[at + 15:].split(b"\r\n")[0]) if at >= 0 else 0
        while len(answer) < end + 4 + size:
            answer += self.sock.recv(65536)
        return answer[end + 4:]


def ask(connection, method, path, body=None):
    content = connection.ask(method, path, body)
    return json.loads(content) if content.strip() else None


def life(connection):
    """A session with one bash step, whole."""
    session = ask(connection, "POST", "/sessions")["session_id"]
    step = ask(connection, "POST", f"/sessions/{session}/step",
               {"sandbox_id": session, "type": "bash", "payload": {"cmd": "echo hello"}})
    assert step == {"output": "hello\n", "error": "", "exit_code": 0}, step
    ask(connection, "DELETE", f"/sessions/{session}")


def throughput(port: int, seconds: float, clients: int, act, prepare=lambda c: None) -> float:
    """Acts a second, of all clients together."""
    counts = [0] * clients
    end = time.monotonic() + seconds

    def client(number):
        connection = Connection(port)
        state = prepare(connection)
        while time.monotonic() < end:
            act(connection, state)
            counts[number] += 1

    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def steps(port: int, seconds: float) -> dict:
    def new(connection):
        return ask(connection, "POST", "/sessions")["session_id"]

    def step(connection, session, kind, payload):
        ask(connection, "POST", f"/sessions/{session}/step",
            {"sandbox_id": session, "type": kind, "payload": payload})

    bash = lambda c, s: step(c, s, "bash", {"cmd": "echo hello"})
    python = lambda c, s: step(c, s, "python", {"code": "print(1)"})
    throughput(port, 0.5, 1, bash, new)  # what is made once
    return {"create, bash step, delete": throughput(port, seconds, 1, lambda c, _: life(c)),
            "the same, 8 clients": throughput(port, seconds, 8, lambda c, _: life(c)),
            "bash step": throughput(port, seconds, 1, bash, new),
            "bash step, 8 clients": throughput(port, seconds, 8, bash, new),
            "python step": throughput(port, seconds, 1, python, new)}


def ssh_times(words: list, folder: str) -> dict:
    """`words`: ssh's options and the destination. Seconds."""
    def timed(*command, data=None):
        start = time.monotonic()
        subprocess.run(command, input=data, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.monotonic() - start

    timed("ssh", *words, "true")
    return {"ssh host true (ms)": min(timed("ssh", *words, "true") for _ in range(10)) * 1000,
            "ssh host 'head -c 256M /dev/zero' (MB/s)":
                268.4 / timed("ssh", *words, "head -c 268435456 /dev/zero")}


def ssh_options(key: str, port: int) -> list:
    return ["-F", "none", "-p", str(port), "-i", key, "-o", "IdentitiesOnly=yes", "-o",
            "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--sbs", help="the package's own program")
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    table = {}
    for name, words in [("cloche", [options.program, "sbs"]),
                        ("session-based-sandbox", [options.sbs] if options.sbs else None)]:
        if not words:
            continue
        port = free_port()
        with Program([*words, "run", "--port", str(port)], port):
            for row, value in steps(port, options.seconds).items():
                table.setdefault(row + " (1/s)", {})[name] = value
    with tempfile.TemporaryDirectory() as folder:
        key = folder + "/key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        public = Path(key + ".pub").read_text().strip()
        port, ssh_port = free_port(), free_port()
        with Program([options.program, "serve", "--port", str(port), "--ssh-port", str(ssh_port),
                      "--ssh-host-key", folder + "/host"], port):
            connection = Connection(port)
            start = time.monotonic()
            for _ in range(100):
                session = ask(connection, "POST", "/sessions", {"sshPublicKey": public})["sessionId"]
            table["session create to SSH-ready (ms)"] = {"cloche": (time.monotonic() - start) * 10}
            words = [*ssh_options(key, ssh_port), f"sandbox+{session}@127.0.0.1"]
            for row, value in ssh_times(words, folder).items():
                table.setdefault(row, {})["cloche"] = value
        sshd = "/usr/sbin/sshd"
        if os.path.exists(sshd):
            os.chmod(folder, 0o755)
            ssh_port = free_port()
            Path(folder, "authorized").write_text(public + "\n")
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder + "/native"],
                           check=True)
            with Program([sshd, "-D", "-f", "/dev/null", "-p", str(ssh_port), "-h",
                          folder + "/native", "-o", f"AuthorizedKeysFile={folder}/authorized", "-o",
                          "StrictModes=no", "-o", "PidFile=none"], ssh_port):
                for row, value in ssh_times([*ssh_options(key, ssh_port), "127.0.0.1"],
                                            folder).items():
                    table.setdefault(row, {})["sshd"] = value
    for row, values in table.items():
        print(f"{row:45}", "  ".join(f"{name} {value:9.1f}" for name, value in values.items()))


if __name__ == "__main__":
    main()
