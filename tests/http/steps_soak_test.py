# SPDX-License-Identifier: Apache-2.0
"""The step server under many clients, and under clients that are killed: nothing is left, and nothing grows."""
import json
import random
import selectors
import signal
import socket
import subprocess
import sys
import unittest
from pathlib import Path

from server import PATIENCE_S, Server, until

KILLED_CLIENT = """
import socket, sys
sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
body = '{"sandbox_id":"%s","type":"bash","payload":{"cmd":"echo up; sleep 1000"}}' % sys.argv[2]
sock.sendall(("POST /sessions/%s/step HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n"
              "Content-Length: %d\\r\\n\\r\\n%s" % (sys.argv[2], len(body), body)).encode())
print("sent", flush=True)
sock.recv(1)
"""


class Life:
    """A client on a connection of its own: a session, one step in it, and its end, over and over."""

    def __init__(self, port: int, number: int):
        self.number, self.lives, self.step_count = number, 0, 0
        self.sock = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.got = b""
        self.state = "created"
        self.session = ""

    def send(self, method: str, path: str, body: str = "") -> None:
        self.sock.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          f"Content-Length: {len(body)}\r\n\r\n{body}".encode())

    def begin(self) -> None:
        self.state = "created"
        self.send("POST", "/sessions")

    def read(self):
        """(status, body), or nothing yet."""
        piece = self.sock.recv(65536)
        if not piece:
            raise AssertionError("the server closed the connection")
        self.got += piece
        head, mark, body = self.got.partition(b"\r\n\r\n")
        if not mark:
            return None
        lines = head.decode().split("\r\n")
        size = sum(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:"))
        if len(body) < size:
            return None
        self.got = body[size:]
        return int(lines[0].split()[1]), body[:size]

    def go_on(self) -> bool:
        """True when a life has ended."""
        answer = self.read()
        if answer is None:
            return False
        status, body = answer
        if self.state == "created":
            assert status == 200, answer
            self.session = json.loads(body)["session_id"]
            self.state = "stepped"
            self.send("POST", f"/sessions/{self.session}/step", json.dumps(
                {"sandbox_id": self.session, "type": "bash",
                 "payload": {"cmd": f"echo {self.number} > f; cat f"}}))
        elif self.state == "stepped":
            assert json.loads(body) == {"output": f"{self.number}\n", "error": "", "exit_code": 0}, answer
            self.state = "deleted"
            self.send("DELETE", f"/sessions/{self.session}")
        else:
            assert status == 204, answer
            self.lives += 1
            return True
        return False


def live(port: int, clients: int, times: int) -> None:
    """`clients` at once, each `times` lives in a row."""
    lives = [Life(port, number) for number in range(clients)]
    with selectors.DefaultSelector() as selector:
        for one in lives:
            selector.register(one.sock, selectors.EVENT_READ, one)
            one.begin()
        left = clients
        while left:
            ready = selector.select(PATIENCE_S)
            if not ready:
                raise AssertionError("no answer")
            for key, _ in ready:
                one = key.data
                if not one.go_on():
                    continue
                if one.lives < times:
                    one.begin()
                else:
                    selector.unregister(one.sock)
                    one.sock.close()
                    left -= 1


def private_kib(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_"))


class Soak(unittest.TestCase):
    def setUp(self):
        self.server = Server("sbs", "run", env={"SBS_STEP_TIMEOUT_SEC": "600"})
        self.addCleanup(self.server.stop)

    def figures(self) -> tuple:
        """Descriptors and private KiB, once all connections and idle threads are gone."""
        until(lambda: self.gauge("cloche_sessions") == 0, "no session is left")
        until(lambda: self.gauge("cloche_worker_threads") == 0, "the workers have ended")
        until(lambda: self.server.descriptors() <= self.idle_descriptors, "the descriptors are closed")
        return self.server.descriptors(), private_kib(self.server.process.pid)

    def gauge(self, name: str) -> float:
        page = self.server.ask("GET", "/metrics")[2].decode()
        return float(next(line.split()[1] for line in page.splitlines() if line.startswith(name + " ")))

    def test_nothing_grows(self):
        live(self.server.port, 1, 1)
        self.idle_descriptors = 0
        until(self.settled, "the descriptors are as many as before")
        live(self.server.port, 1, 1000)
        _, before = self.figures()
        # The allocator keeps what it likes, up to a limit; a leak is what grows each time.
        grown = []
        for _ in range(8):
            live(self.server.port, 200, 5)
            _, after = self.figures()
            grown.append(after - before)
            before = after
            if grown[-1] < 2 * 1000:
                return
        self.fail(f"private memory grows with every 1,000 sessions: {grown} KiB")

    def settled(self) -> bool:
        """Twice the same count: what the start opens for a moment is closed."""
        now = self.server.descriptors()
        same, self.idle_descriptors = now == self.idle_descriptors, now
        return same

    def test_clients_that_are_killed(self):
        live(self.server.port, 1, 1)
        self.idle_descriptors = 0
        until(self.settled, "the descriptors are as many as before")
        sessions, clients = [], []
        for _ in range(8):
            session = json.loads(self.server.ask("POST", "/sessions")[2])["session_id"]
            client = subprocess.Popen([sys.executable, "-c", KILLED_CLIENT, str(self.server.port), session],
                                      stdout=subprocess.PIPE)
            client.stdout.readline()
            sessions.append(session)
            clients.append(client)
        until(lambda: self.server.log().count("step_started") >= 1 + len(sessions), "the steps run")
        for client in clients:
            client.send_signal(signal.SIGKILL)
            client.wait()
            client.stdout.close()
        # A step goes on without its client, and ends with its session.
        self.assertEqual(self.server.log().count("step_finished"), 1)
        for session in sessions:
            self.assertEqual(self.server.ask("DELETE", f"/sessions/{session}")[0], 204)
        until(lambda: self.server.log().count("step_finished") == 1 + len(sessions), "the steps have ended")
        self.figures()
        live(self.server.port, 4, 2)
        self.assertEqual(self.server.stop(), 0)

    def test_requests_with_errors(self):
        """Requests that were changed here and there: each gets an answer of HTTP or the end of its connection."""
        live(self.server.port, 1, 1)
        self.idle_descriptors = 0
        until(self.settled, "the descriptors are as many as before")
        session = json.loads(self.server.ask("POST", "/sessions")[2])["session_id"]
        body = json.dumps({"sandbox_id": session, "type": "bash", "payload": {"cmd": "echo x"}})
        good = (f"POST /sessions/{session}/step HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
        chance = random.Random(8)
        for _ in range(300):
            data = bytearray(good)
            for _ in range(chance.randrange(1, 6)):
                at = chance.randrange(len(data))
                change = chance.randrange(4)
                if change == 0:
                    data[at] = chance.randrange(256)
                elif change == 1:
                    del data[at:at + chance.randrange(1, 40)]
                elif change == 2:
                    data[at:at] = data[chance.randrange(len(data)):][:chance.randrange(40)]
                else:
                    data[at:at] = chance.choice([b"\r\n", b"\0", b"{", b'"', b"\xff", b": ", b"9" * 20, b"[" * 99])
            with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE_S) as sock:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                try:
                    start = sock.recv(9)
                except ConnectionResetError:
                    start = b""
                self.assertIn(start, (b"", b"HTTP/1.1 ", b"HTTP/1.0 "), bytes(data))
        self.assertEqual(self.server.ask("DELETE", f"/sessions/{session}")[0], 204)
        live(self.server.port, 1, 1)


if __name__ == "__main__":
    unittest.main()
