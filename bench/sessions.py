#!/usr/bin/env python3
"""Measures the steps of `cloche sbs` against the Python package session-based-sandbox, where that is installed, in
the same run. SSH and SFTP: bench/ssh.py.

    bench/sessions.py PROGRAM [--sbs COMMAND] [--seconds N]

PROGRAM is cloche; COMMAND the package's own `sbs` (pip install session-based-sandbox into a venv). What is
absent is left out.

Steps: `echo hello` by bash, `print(1)` by python, over connections that are kept, by one client process that serves
them all; both servers have their defaults, and logs that nobody reads. Client and server share the machine: so
beside the throughput stands what each step cost the server in CPU time, with all that it started. Both servers are
measured in turn, row by row, so that a machine whose speed drifts is fair to both.
"""
import argparse
import contextlib
import json
import selectors
import socket
import time

from servers import Server, free_port


def request(method: str, path: str, body=None) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    return (b"%s %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (method.encode(), path.encode(), len(content), content))


class Connection:
    """One of HTTP, which costs the client as little as Python can: it is not what is measured."""

    def __init__(self, port: int):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def answer(self) -> bytes:
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
    connection.sock.sendall(request(method, path, body))
    content = connection.answer()
    return json.loads(content) if content.strip() else None


class Client(Connection):
    """Steps in one session for ever, or whole lives of sessions: what it asks next follows from the answer."""

    def __init__(self, port: int, payload: dict, kind: str, lives: bool):
        super().__init__(port)
        self.payload, self.kind, self.lives, self.done = payload, kind, lives, 0
        self.begin()

    def begin(self) -> None:
        self.state = "create"
        self.sock.sendall(request("POST", "/sessions"))

    def go_on(self) -> None:
        content = self.answer()
        if self.state == "create":
            session = json.loads(content)["session_id"]
            self.path = f"/sessions/{session}"
            self.step = request("POST", self.path + "/step",
                                {"sandbox_id": session, "type": self.kind, "payload": self.payload})
            self.state = "step"
            self.sock.sendall(self.step)
        elif self.state == "step":
            if not content.endswith(b'"exit_code":0}'):
                raise SystemExit(f"a step went wrong: {content!r}")
            if self.lives:
                self.state = "delete"
                self.sock.sendall(request("DELETE", self.path))
            else:
                self.done += 1
                self.sock.sendall(self.step)
        else:
            self.done += 1
            self.begin()


def measure(server: Server, seconds: float, clients: int, payload: dict, kind="bash", lives=False) -> tuple:
    """(how many a second, of all clients together; milliseconds of CPU that each cost the server)"""
    with selectors.DefaultSelector() as selector:
        for _ in range(clients):
            client = Client(server.port, payload, kind, lives)
            selector.register(client.sock, selectors.EVENT_READ, client)

        def go_on(until: float) -> int:
            before = sum(key.data.done for key in selector.get_map().values())
            while time.monotonic() < until:
                for key, _ in selector.select(0.1):
                    key.data.go_on()
            return sum(key.data.done for key in selector.get_map().values()) - before

        go_on(time.monotonic() + 0.5)  # what is made once
        cpu, start = server.cpu_s(), time.monotonic()
        count = go_on(start + seconds)
        took = time.monotonic() - start
        cpu = server.cpu_s() - cpu
        for key in list(selector.get_map().values()):
            key.data.sock.close()
    return count / took, cpu / max(count, 1) * 1000


def step_rows(seconds: float) -> dict:
    """What measures each row at a server."""
    bash = {"cmd": "echo hello"}

    def row(clients, payload=bash, kind="bash", lives=False):
        return lambda server: measure(server, seconds, clients, payload, kind, lives)

    return {"bash step": row(1), "bash step, 4 clients": row(4), "bash step, 16 clients": row(16),
            "create, bash step, delete": row(1, lives=True),
            "create, bash step, delete, 8 clients": row(8, lives=True),
            "python step": row(1, {"code": "print(1)"}, "python")}


def compare_steps(options, table: dict) -> None:
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, words in [("cloche", [options.program, "sbs"]),
                            ("session-based-sandbox", [options.sbs] if options.sbs else None)]:
            if words:
                port = free_port()
                servers[name] = stack.enter_context(Server([*words, "run", "--port", str(port)], port))
        for row, act in step_rows(options.seconds).items():
            for name, server in servers.items():
                rate, cpu = act(server)
                table.setdefault(row + " (1/s)", {})[name] = rate
                table.setdefault(row + " (ms of CPU)", {})[name] = cpu
    for values in table.values():
        if len(values) == 2:
            ours, theirs = values.values()
            values["ratio"] = max(ours / theirs, theirs / ours)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--sbs", help="the package's own program")
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    table = {}
    compare_steps(options, table)
    for row, values in table.items():
        print(f"{row:52}", "  ".join(f"{name} {value:9.2f}" for name, value in values.items()))


if __name__ == "__main__":
    main()
