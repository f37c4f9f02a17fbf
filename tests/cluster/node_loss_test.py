# SPDX-License-Identifier: Apache-2.0
"""Cells on machines of their own, of which one vanishes: another one takes its folder over, and it comes back and must not write.

The machines are network namespaces (network.py). They share a folder as some network storage is shared: a lock that one of
them has is unknown to the others, so only the name in the folder's `lock` tells whose it is.
"""
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "http")]
from gateway import HAPROXY, Gateway  # noqa: E402
from network import IP, Network, enter  # noqa: E402
from server import PATIENCE_S, PROGRAM, until  # noqa: E402

TOKEN = "test-token-one"
SECRET = "a-secret-of-the-cells"
PORT = 8000

# A lock of another machine's does not hold here, and the other way round.
NO_LOCKS = """
#include <errno.h>
int flock(int fd, int operation) { (void)fd; (void)operation; errno = ENOLCK; return -1; }
"""


class Cells:
    """A cell on each machine, and HAProxy on the bridge."""

    def __init__(self, network, folder, count):
        self.network, self.folder = network, Path(folder)
        (self.folder / "secret").write_text(SECRET + "\n")
        (self.folder / "no_locks.c").write_text(NO_LOCKS)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(self.folder / "no_locks.so"), str(self.folder / "no_locks.c")], check=True)
        self.machines = [network.machine() for _ in range(count)]
        self.homes = {machine.number: machine for machine in self.machines}
        self.processes = {}
        self.gateway = Gateway(self.folder / "haproxy.cfg")
        for machine in self.machines:
            self.start(machine)
        self.start_gateway()

    def peers(self):
        return ",".join(f"{machine.address}:{PORT}" for machine in self.machines)

    def start(self, machine):
        log = self.log(machine)
        with open(log, "w") as out:
            self.processes[machine.number] = subprocess.Popen(
                machine.words(PROGRAM, "serve", "--host", machine.address, "--port", str(PORT), "--cell-key", str(machine.number),
                              "--token", TOKEN, "--state-dir", str(self.folder / "state"), "--take-keys", "--drain-notice", "1",
                              "--peers", self.peers(), "--peer-token-file", str(self.folder / "secret"),
                              "--ssh-host-key", str(self.folder / "host_key")),
                stderr=out, env={**os.environ, "LD_PRELOAD": str(self.folder / "no_locks.so")})
        until(lambda: "listening" in log.read_text(), "the cell listens:\n" + log.read_text())

    def log(self, machine):
        return self.folder / f"log{machine.number}"

    def start_gateway(self):
        before = self.gateway.take(f"10.77.0.254:{PORT}", {key: f"{home.address}:{PORT}" for key, home in self.homes.items()}, self.tries)
        # A request to the machine that has vanished keeps one for `timeout server`, and is lost anyway; others are done by then.
        self.gateway.end(before, 20)

    def tries(self):
        try:
            return ask("10.77.0.254", "GET", "/ready")[0] == 200
        except OSError:
            return False

    def move(self, key, to):
        subprocess.run([PROGRAM, "cells", "move", str(key), str(to.number), "--peers", self.peers(), "--peer-token-file",
                        str(self.folder / "secret")], check=True, capture_output=True, timeout=PATIENCE_S)
        self.homes[key] = to

    def close(self):
        self.gateway.kill()
        for process in self.processes.values():
            process.kill()
            process.wait()


def ask(address, method, path, body=None, headers=None, timeout=PATIENCE_S):
    connection = http.client.HTTPConnection(address, PORT, timeout=timeout)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def run(address, session, text, **more):
    status, body = ask(address, "POST", f"/sessions/{session}/commands", {"command": text}, **more)
    return status, json.loads(body)


class Writers:
    """Append a line to the files of sessions in turn, and know which lines were acknowledged."""

    def __init__(self, address, sessions):
        self.address, self.sessions = address, sessions
        self.acknowledged = {session: [] for session in sessions}
        self.unsure = {session: set() for session in sessions}
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(group,)) for group in self.groups()]
        for thread in self.threads:
            thread.start()

    def groups(self):
        """By cell: those of one that is away keep nobody from the others."""
        return [[session for session in self.sessions if session[-4:] == key] for key in {session[-4:] for session in self.sessions}]

    def work(self, sessions):
        line = 0
        while not self.ended.is_set():
            for session in sessions:
                line += 1
                try:
                    status, body = run(self.address, session, f"echo {line} >> log", timeout=20)
                except (OSError, ValueError, http.client.HTTPException):
                    status = 0  # or an answer of HAProxy's own
                if status == 200 and body["exitCode"] == 0:
                    self.acknowledged[session].append(line)
                else:
                    self.unsure[session].add(line)
                    self.ended.wait(0.2)

    def until_each_has(self, count, sessions):
        wanted = {session: len(self.acknowledged[session]) + count for session in sessions}
        until(lambda: all(len(self.acknowledged[session]) >= wanted[session] for session in sessions), "more is acknowledged")

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


@unittest.skipUnless(HAPROXY and IP, "haproxy or ip is not installed: apt-get install haproxy iproute2")
class NodeLossTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        network = Network()
        self.addCleanup(network.close)
        self.cells = Cells(network, folder.name, 3)
        self.addCleanup(self.cells.close)
        self.state = Path(folder.name, "state")

    def test_a_machine_that_vanishes_and_comes_back(self):
        cells = self.cells
        first, lost, third = cells.machines
        sessions = [json.loads(ask(machine.address, "POST", "/sessions", {"ttl": 3600})[1])["sessionId"]
                    for machine in cells.machines for _ in range(5)]
        of_lost = [session for session in sessions if int(session[-4:], 16) == lost.number]
        self.assertEqual(len(of_lost), 5)
        writers = Writers("10.77.0.254", sessions)
        try:
            writers.until_each_has(3, sessions)
            began = time.monotonic()
            lost.pull_out()
            # The others go on meanwhile.
            writers.until_each_has(3, [session for session in sessions if session not in of_lost])
            cells.move(lost.number, first)
            cells.start_gateway()
            writers.until_each_has(3, of_lost)
            print(f"\nnode loss: sessions were back {time.monotonic() - began:.1f} s after it, most of which is the test's own")
            self.assertIn("generation 2 of", (self.state / str(lost.number) / "lock").read_text())

            # The old one goes on without a network, and knows nothing of it. What it is asked there it does not acknowledge.
            zombie = cells.processes[lost.number]
            self.assertIsNone(zombie.poll())
            inside = subprocess.run(lost.words(
                "sh", "-c", f"{IP} addr add {lost.address}/32 dev lo; exec {sys.executable} -B -c '{self.asker(lost, of_lost[0])}'"),
                capture_output=True, text=True, check=True, timeout=PATIENCE_S)
            status, body = inside.stdout.split(" ", 1)
            # It has not noticed before it would have written, or it has, as it is one of its own peers.
            self.assertIn(status, ("500", "503"), body)
            self.assertIn("another server has taken", body + cells.log(lost).read_text())
            subprocess.run(lost.words(IP, "addr", "del", f"{lost.address}/32", "dev", "lo"), check=True)

            # It is back, and hears that it has lost its key. Whoever asks it is led to the one that has it.
            lost.plug_in()
            report = lambda: json.loads(ask(lost.address, "GET", "/cell", headers={"X-Cloche-Hop": SECRET})[1])
            until(lambda: self.answers(lost), "the machine is back")
            self.assertEqual(report()["keys"], [])
            writers.until_each_has(3, sessions)
            for machine in cells.machines:
                for session in of_lost:
                    until(lambda m=machine, s=session: ask(m.address, "GET", f"/sessions/{s}")[0] == 200, "it is known where it is")
                    self.assertEqual(run(machine.address, session, "cat zombie")[1]["exitCode"], 1)
            self.assertEqual({int(json.loads(ask(lost.address, "POST", "/sessions")[1])["sessionId"][-4:], 16) for _ in range(5)}
                             & {lost.number}, set(), "it makes no session under a key that it has not")
            self.assertIn("generation 2 of", (self.state / str(lost.number) / "lock").read_text())
            # And once it has ended it may have its key again.
            zombie.send_signal(signal.SIGTERM)
            self.assertEqual(zombie.wait(PATIENCE_S), 0)
        finally:
            writers.stop()
        for session in sessions:
            status, content = ask("10.77.0.254", "GET", f"/sessions/{session}/files?filePath=log")
            self.assertEqual(status, 200, content)
            lines = [int(word) for word in content.split()]
            self.assertEqual(len(lines), len(set(lines)), "something was done twice")
            self.assertEqual([line for line in lines if line not in writers.unsure[session]], writers.acknowledged[session])

    def answers(self, machine):
        try:
            return ask(machine.address, "GET", "/health")[0] == 200
        except OSError:
            return False

    def asker(self, machine, session):
        """A program that asks the lost machine, on it."""
        return ("import sys; sys.path[:0] = " + repr([str(HERE), str(HERE.parent / "http")]).replace("'", '"') +
                "; import node_loss_test as t; status, body = t.ask("
                f'"{machine.address}", "POST", "/sessions/{session}/commands", {{"command": "echo x > zombie"}}); '
                "print(status, body.decode())")


if __name__ == "__main__":
    enter()
    unittest.main()
