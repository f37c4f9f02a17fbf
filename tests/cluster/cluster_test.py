# SPDX-License-Identifier: Apache-2.0
"""Three cells behind HAProxy, as `cloche route --haproxy` sets it up, while each of them is restarted and killed in turn under load."""
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
sys.path[:0] = [str(HERE.parent / "http"), str(HERE.parents[1] / "sdk/python/src")]
from server import PATIENCE_S, PROGRAM, Server, free_port, until  # noqa: E402

TOKEN = "test-token-one"
HAPROXY = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
KEYS = (1, 2, 3)
SESSIONS = 60
CLIENTS = 8


class Cluster:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.ports = {key: free_port() for key in KEYS}
        Path(self.folder.name, "secret").write_text("a-secret-of-the-cells\n")
        self.cells = {}
        self.gateway = None
        try:
            self.begin()
        except BaseException:
            self.stop()
            raise

    def begin(self):
        for key in KEYS:
            self.start(key)
        words = [word for key in KEYS for word in ["--cell", f"{key}=127.0.0.1:{self.ports[key]}"]]
        text = subprocess.run([PROGRAM, "route", "--haproxy", "--listen", f"127.0.0.1:{self.port}", *words],
                              check=True, capture_output=True, text=True).stdout
        self.config = Path(self.folder.name, "haproxy.cfg")
        self.config.write_text(text)
        self.start_gateway()

    def start(self, key):
        if key in self.cells:
            self.cells[key].folder.cleanup()
        self.cells[key] = Server("serve", "--cell-key", str(key), "--token", TOKEN, "--state-dir", self.folder.name + "/state",
                                 "--drain", "30", "--drain-notice", "1", "--peer-token-file", self.folder.name + "/secret",
                                 "--peers", ",".join(f"127.0.0.1:{p}" for p in self.ports.values()), port=self.ports[key])

    def start_gateway(self):
        self.gateway = subprocess.Popen([HAPROXY, "-db", "-f", str(self.config)], stderr=subprocess.DEVNULL)
        until(lambda: self.is_up(), "the gateway answers")

    def is_up(self) -> bool:
        assert self.gateway.poll() is None, "HAProxy does not take its configuration"
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
        if self.gateway:
            self.gateway.kill()
            self.gateway.wait()
        for server in self.cells.values():
            server.process.kill()
            server.process.wait()
            server.folder.cleanup()
        self.folder.cleanup()


class Load:
    """Clients that append to files of sessions, one line a command, and know which lines were acknowledged."""

    def __init__(self, cluster, sessions):
        self.cluster = cluster
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
            listed = [s.session_id for offset in (0, 50) for s in client.list_sessions(limit=50, offset=offset)["sessions"]]
            self.assertLessEqual(set(self.sessions), set(listed))
            for session in self.sessions[:9]:
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
        self.cluster.gateway.wait()
        self.cluster.start_gateway()
        self.assertEqual(self.cluster.ask("GET", f"/sessions/{session}")[0], 200)


@unittest.skipUnless(shutil.which("go"), "go is not installed: apt-get install golang-go")
class ChartTest(unittest.TestCase):
    def test_what_helm_makes_of_it_is_what_kubernetes_and_cloche_know(self):
        done = subprocess.run(["go", "test", "-count=1", "./..."], cwd=HERE / "chart", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
