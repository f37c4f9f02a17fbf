# SPDX-License-Identifier: Apache-2.0
"""Cells behind HAProxy, as `cloche route --haproxy` sets it up, under load: restarted and killed in turn, more of them and fewer, full.

CLUSTER_SESSIONS and CLUSTER_TUNNELS say how many (300 and 24).
"""
import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "http"), str(HERE.parents[1] / "sdk/python/src")]
from gateway import HAPROXY, Gateway  # noqa: E402
from server import PATIENCE_S, PROGRAM, Server, free_port, until  # noqa: E402

TOKEN = "test-token-one"
KEYS = (1, 2, 3)
SESSIONS = int(os.environ.get("CLUSTER_SESSIONS", "300"))
TUNNELS = int(os.environ.get("CLUSTER_TUNNELS", "24"))
CLIENTS = 8


class Cluster:
    """Cells, each with its own key at first; `homes` has which cell a key is with."""

    def __init__(self, *words, ssh=False):
        self.words, self.ssh = words, ssh
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.ports = {key: free_port() for key in KEYS}
        Path(self.folder.name, "secret").write_text("a-secret-of-the-cells\n")
        self.homes = {key: key for key in KEYS}
        self.cells = {}
        self.gateway = Gateway(Path(self.folder.name, "haproxy.cfg"))
        try:
            self.begin()
        except BaseException:
            self.stop()
            raise

    def begin(self):
        Path(self.folder.name, "peers").touch()
        for key in KEYS:
            self.start(key)
        self.start_gateway()
        # One that is not known yet has no room for others, and counts for no limit.
        for port in self.ports.values():
            for key in KEYS:
                until(lambda port=port, key=key: self.knows(port, key), f"cell {key} is known")

    def knows(self, port, key) -> bool:
        return self.ask_at(port, f"/sessions/01234567-89ab-4cde-8f01-23456789{key:04x}") == 404

    def ask_at(self, port, path) -> int:
        """What a cell says itself."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as cell:
            return self.ask("GET", path, connection=cell)[0]

    def peers(self):
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def add(self, key):
        self.ports[key] = free_port()
        self.homes[key] = key
        self.start(key)

    def move(self, key, to):
        subprocess.run([PROGRAM, "cells", "move", str(key), str(to), "--peers", self.peers(), "--peer-token-file",
                        self.folder.name + "/secret"], check=True, capture_output=True, timeout=PATIENCE_S)
        self.homes[key] = to

    def start(self, key):
        if key in self.cells:
            self.cells[key].folder.cleanup()
        self.cells[key] = Server("serve", "--cell-key", str(key), "--token", TOKEN, "--state-dir", self.folder.name + "/state",
                                 "--drain", "30", "--drain-notice", "1", "--peer-token-file", self.folder.name + "/secret",
                                 "--peers", f"file:{self.folder.name}/peers", *self.words, port=self.ports[key], ssh=self.ssh)
        part = Path(self.folder.name, "peers.part")
        part.write_text("".join(f"127.0.0.1:{port}\n" for port in self.ports.values()))
        part.rename(part.with_suffix(""))

    def start_gateway(self):
        """One that is there takes over what is so now."""
        self.gateway.until_gone(self.gateway.take(f"127.0.0.1:{self.port}", {key: f"127.0.0.1:{self.ports[home]}"
                                                                            for key, home in self.homes.items()}, self.is_up))

    def is_up(self) -> bool:
        try:
            return self.ask("GET", "/ready")[0] == 200
        except OSError:
            return False

    def ask(self, method, path, body=None, connection=None):
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        own.request(method, path, json.dumps(body) if body is not None else None,
                    {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
        answer = own.getresponse()
        content = answer.read()
        if not connection:
            own.close()
        return answer.status, content

    def create(self) -> str:
        status, body = self.ask("POST", "/sessions", {"ttl": 3600})
        assert status == 200, body
        return json.loads(body)["sessionId"]

    def stop(self):
        self.gateway.kill()
        for server in self.cells.values():
            server.process.kill()
            server.process.wait()
            server.folder.cleanup()
        self.folder.cleanup()


class Load:
    """Clients that append to files of sessions, one line a command, and know which lines were acknowledged."""

    def __init__(self, cluster, sessions, keep_alive=True):
        self.cluster = cluster
        self.keep_alive = keep_alive
        self.acknowledged = {session: [] for session in sessions}
        self.failures = []  # (session, line, what)
        self.longest_s = 0.0
        self.ended = threading.Event()
        groups = [sessions[i::CLIENTS] for i in range(CLIENTS)]
        self.threads = [threading.Thread(target=self.client, args=(group,)) for group in groups]
        for thread in self.threads:
            thread.start()

    def client(self, sessions):
        connection = None
        line = 0
        while not self.ended.is_set():
            for session in sessions:
                line += 1
                begin = time.monotonic()
                try:
                    connection = connection or http.client.HTTPConnection("127.0.0.1", self.cluster.port, timeout=PATIENCE_S)
                    status, body = self.cluster.ask("POST", f"/sessions/{session}/commands",
                                                    {"command": f"echo {line} >> log"}, connection)
                    if status == 200 and json.loads(body)["exitCode"] == 0:
                        self.acknowledged[session].append(line)
                    else:
                        self.failures.append((session, line, f"{status} {body[:200]}"))
                except (OSError, http.client.HTTPException) as error:
                    connection = None
                    self.failures.append((session, line, repr(error)))
                if connection and not self.keep_alive:
                    connection.close()
                    connection = None
                self.longest_s = max(self.longest_s, time.monotonic() - begin)
        if connection:
            connection.close()

    def until_more(self, commands):
        """So many more have been acknowledged."""
        count = lambda: sum(map(len, self.acknowledged.values()))
        wanted = count() + commands
        until(lambda: count() >= wanted, f"{wanted} commands are acknowledged; failures: {self.failures[:5]}")

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def check(self, test):
        """Nothing that was acknowledged is lost, and nothing was done twice."""
        unsure = {(session, line) for session, line, _ in self.failures}
        for session, acknowledged in self.acknowledged.items():
            status, content = self.cluster.ask("GET", f"/sessions/{session}/files?filePath=log")
            test.assertEqual(status, 200, content)
            lines = [int(word) for word in content.split()]
            test.assertEqual(len(lines), len(set(lines)), "something was done twice")
            test.assertEqual([line for line in lines if (session, line) not in unsure], acknowledged)


@unittest.skipUnless(HAPROXY, "haproxy is not installed: apt-get install haproxy")
class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.stop)
        cls.sessions = [cls.cluster.create() for _ in range(SESSIONS)]

    def test_sessions_are_on_all_cells_and_every_door_leads_to_them(self):
        from sandbox_sessions_sdk import SessionsClient, SessionSSHClient
        self.assertEqual({int(session[-4:], 16) for session in self.sessions}, set(KEYS))
        url = f"http://127.0.0.1:{self.cluster.port}"
        with SessionsClient(url, TOKEN) as client:
            # Other tests have made some too.
            pages = range(0, client.list_sessions(limit=1)["total"], 50)
            listed = [s.session_id for offset in pages for s in client.list_sessions(limit=50, offset=offset)["sessions"]]
            self.assertLessEqual(set(self.sessions), set(listed))
            for session in self.sessions[:TUNNELS // 2]:
                self.assertEqual(client.get_session(session).session_id, session)
                for prefix in ["", "/v1"]:
                    template = prefix + "/sessions/{sessionId}"
                    with SessionSSHClient(url, TOKEN, session, username="sandbox", connect_path_template=template) as ssh:
                        self.assertEqual(ssh.run_command(f"echo {session}")["stdout"], session + "\n")
        # As a usual proxy is asked.
        with socket.create_connection(("127.0.0.1", self.cluster.port)) as sock:
            sock.sendall(f"CONNECT {self.sessions[0]}:22 HTTP/1.1\r\nHost: {self.sessions[0]}:22\r\n"
                         f"Proxy-Authorization: Bearer {TOKEN}\r\n\r\n".encode())
            self.assertTrue(sock.recv(100).startswith(b"HTTP/1.1 200 "))
        self.assertEqual(self.cluster.ask("GET", "/sessions/" + self.sessions[0][:-4] + "0000")[0], 404)

    def test_a_rolling_update_fails_no_request(self):
        load = Load(self.cluster, self.sessions)
        try:
            for _ in range(5):
                for key in KEYS:
                    load.until_more(50)
                    self.assertEqual(self.cluster.cells[key].stop(), 0)
                    self.cluster.start(key)
            load.until_more(200)
        finally:
            load.stop()
        self.assertEqual(load.failures, [])
        load.check(self)
        print(f"\nrolling update: {sum(map(len, load.acknowledged.values()))} commands, the longest took {load.longest_s:.2f} s")

    def test_a_cell_that_is_killed_loses_nothing_that_was_acknowledged(self):
        sessions = [self.cluster.create() for _ in range(SESSIONS // 2)]
        load = Load(self.cluster, sessions)
        try:
            for key in KEYS:
                load.until_more(50)
                self.cluster.cells[key].process.kill()
                self.cluster.cells[key].process.wait()
                self.cluster.start(key)
            load.until_more(100)
        finally:
            load.stop()
        # Only what was being done in the cell, of each client one at most.
        self.assertLessEqual(len(load.failures), len(KEYS) * CLIENTS, load.failures)
        load.check(self)

    def test_the_gateway_has_no_state(self):
        session = self.cluster.create()
        self.cluster.gateway.kill()
        self.cluster.start_gateway()
        self.assertEqual(self.cluster.ask("GET", f"/sessions/{session}")[0], 200)


@unittest.skipUnless(HAPROXY, "haproxy is not installed: apt-get install haproxy")
class ScaleTest(unittest.TestCase):
    def test_more_cells_and_fewer_under_load(self):
        cluster = Cluster("--take-keys")
        self.addCleanup(cluster.stop)
        sessions = [cluster.create() for _ in range(SESSIONS // 3)]
        load = Load(cluster, sessions, keep_alive=False)
        try:
            load.until_more(100)
            for key in (4, 5, 6):
                cluster.add(key)
            cluster.start_gateway()
            more = [cluster.create() for _ in range(60)]
            self.assertEqual({int(session[-4:], 16) for session in more}, {1, 2, 3, 4, 5, 6})
            load.until_more(200)
            for key, home in [(6, 1), (5, 2), (4, 1), (3, 2)]:
                cluster.move(key, home)
                cluster.start_gateway()
                load.until_more(50)
                self.assertEqual(cluster.cells[key].stop(), 0)
                load.until_more(50)
        finally:
            load.stop()
        self.assertEqual(load.failures, [])
        load.check(self)
        for session in more:
            self.assertEqual(cluster.ask("GET", f"/sessions/{session}")[0], 200)
        print(f"\nscale 3, 6, 2: {sum(map(len, load.acknowledged.values()))} commands, the longest took {load.longest_s:.2f} s")


@unittest.skipUnless(HAPROXY, "haproxy is not installed: apt-get install haproxy")
class RefusalTest(unittest.TestCase):
    def test_full_cells_say_so_at_once(self):
        cluster = Cluster("--max-sessions", "4")
        self.addCleanup(cluster.stop)
        sessions = [cluster.create() for _ in range(12)]
        self.assertEqual({int(session[-4:], 16) for session in sessions}, set(KEYS))
        answers = []

        def burst():
            begin = time.monotonic()
            status, body = cluster.ask("POST", "/sessions", {"ttl": 3600})
            answers.append((status, json.loads(body)["error"], time.monotonic() - begin))

        threads = [threading.Thread(target=burst) for _ in range(120)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({answer[:2] for answer in answers}, {(503, "CELL_FULL")})
        print(f"\n120 at once at full cells: the longest took {max(took for _, _, took in answers):.2f} s")
        self.assertEqual(cluster.ask("DELETE", f"/sessions/{sessions[0]}")[0], 200)
        self.assertEqual(cluster.create()[-4:], sessions[0][-4:])

    def test_an_owner_who_is_full_is_told_apart(self):
        cluster = Cluster("--max-token-sessions", "5")
        self.addCleanup(cluster.stop)
        for _ in range(5):
            cluster.create()
        for _ in range(6):
            status, body = cluster.ask("POST", "/sessions", {"ttl": 3600})
            self.assertEqual((status, json.loads(body)["error"]), (429, "RATE_LIMITED"))


@unittest.skipUnless(shutil.which("go"), "go is not installed: apt-get install golang-go")
class ChartTest(unittest.TestCase):
    def test_what_helm_makes_of_it_is_what_kubernetes_and_cloche_know(self):
        done = subprocess.run(["go", "test", "-count=1", "./..."], cwd=HERE / "chart", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
