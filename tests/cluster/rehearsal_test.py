# SPDX-License-Identifier: Apache-2.0
"""A rehearsal: many sessions on three cells behind HAProxy, by every door, and rolling updates under load.

CLUSTER_SESSIONS, CLUSTER_TUNNELS, CLUSTER_UPDATES and CLUSTER_RATE say how many, and how many commands a second are asked
for (300, 20, 1 and 50): `make rehearse-cluster` has the sizes of docs/cluster.md. It prints what it measures.
"""
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "http"), str(HERE.parents[1] / "sdk/python/src")]
from cluster_test import HAPROXY, KEYS, TOKEN, Cluster  # noqa: E402
from server import PATIENCE_S, until  # noqa: E402

SESSIONS = int(os.environ.get("CLUSTER_SESSIONS", "300"))
TUNNELS = int(os.environ.get("CLUSTER_TUNNELS", "20"))
UPDATES = int(os.environ.get("CLUSTER_UPDATES", "1"))
RATE = float(os.environ.get("CLUSTER_RATE", "50"))
CREATORS = 8
CONNECTIONS = 32
LOGINS = 40  # at a time: a cell has 64 of them at most


def in_threads(count, work):
    """work(i) for each i, at once; the errors of those that failed."""
    wrong = []

    def one(number):
        try:
            work(number)
        except Exception as error:
            wrong.append(f"{number}: {error!r}")

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@unittest.skipUnless(HAPROXY, "haproxy is not installed: apt-get install haproxy")
class RehearsalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster("--max-sessions", str(SESSIONS), "--max-connections", "4096", "--idle-timeout", "0", ssh=True)
        cls.addClassCleanup(cls.cluster.stop)
        cls.sessions = []
        begin = time.monotonic()
        wrong = in_threads(CREATORS, cls.create)
        assert not wrong, wrong[:3]
        seconds = time.monotonic() - begin
        resident = [round(cell.resident_mb()) for cell in cls.cluster.cells.values()]
        print(f"\n{len(cls.sessions)} sessions made through HAProxy in {seconds:.1f} s, {len(cls.sessions) / seconds:.0f} a second; "
              f"the cells have {resident} MB")

    @classmethod
    def create(cls, number):
        connection = http.client.HTTPConnection("127.0.0.1", cls.cluster.port, timeout=PATIENCE_S)
        for _ in range(number, SESSIONS, CREATORS):
            status, body = cls.cluster.ask("POST", "/sessions", {"ttl": 7200}, connection)
            assert status == 200, body
            cls.sessions.append(json.loads(body)["sessionId"])
        connection.close()

    def ask(self, *words, status=200, **more):
        got, body = self.cluster.ask(*words, **more)
        self.assertEqual(got, status, body)
        return body

    def some(self, count):
        return random.sample(self.sessions, min(count, len(self.sessions)))

    # --- Doors -----------------------------------------------------------------------------------

    def test_they_are_on_all_cells_in_equal_parts_and_in_one_list(self):
        parts = [sum(int(session[-4:], 16) == key for session in self.sessions) for key in KEYS]
        self.assertLess(max(parts), 1.25 * SESSIONS / len(KEYS), parts)
        listed, total = [], None
        while total is None or len(listed) < min(total, 2000):
            page = json.loads(self.ask("GET", f"/sessions?limit=100&offset={len(listed)}"))
            listed += [session["sessionId"] for session in page["sessions"]]
            total = page["total"]
        self.assertEqual(total, SESSIONS)
        self.assertEqual(len(listed), len(set(listed)))
        self.assertLessEqual(set(listed), set(self.sessions))

    def test_rest_and_the_doors_without_a_session(self):
        for session in self.some(30):
            for prefix in ("", "/v1"):
                path = f"{prefix}/sessions/{session}"
                self.assertEqual(json.loads(self.ask("GET", path))["sessionId"], session)
                said = json.loads(self.ask("POST", path + "/commands", {"command": f"echo {session} > own; cat own"}))
                self.assertEqual(said["stdout"], session + "\n")
                said = json.loads(self.ask("POST", path + "/code", {"code": "print(open('own').read(), end='')", "language": "python"}))
                self.assertEqual(said["stdout"], session + "\n")
                self.assertEqual(self.ask("GET", path + "/files?filePath=own"), session.encode() + b"\n")
        said = json.loads(self.ask("POST", "/run_code", {"code": "print(6 * 7)", "language": "python"}))
        self.assertEqual(said["run_result"]["stdout"], "42\n")
        for path in ("/health", "/ready", "/openapi.json"):
            self.ask("GET", path)

    def test_tunnels_and_the_plain_port_of_any_cell_all_at_once(self):
        import paramiko
        sessions = self.some(TUNNELS)
        opened = threading.Barrier(len(sessions))
        logins = threading.Semaphore(LOGINS)

        def connect(number):
            session = sessions[number]
            if number % 2 == 0:
                sock = socket.create_connection(("127.0.0.1", self.cluster.port), PATIENCE_S)
                sock.sendall(f"CONNECT /sessions/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             f"Proxy-Authorization: Bearer {TOKEN}\r\n\r\n".encode())
                assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
                user = "sandbox"
            else:
                cell = self.cluster.cells[KEYS[number // 2 % len(KEYS)]]
                sock = socket.create_connection(("127.0.0.1", cell.ssh_port), PATIENCE_S)
                user = "sandbox+" + session
            transport = paramiko.Transport(sock)
            try:
                transport.banner_timeout = transport.auth_timeout = PATIENCE_S
                with logins:
                    transport.start_client(timeout=PATIENCE_S)
                    transport.auth_password(user, TOKEN)
                opened.wait(PATIENCE_S)
                channel = transport.open_session(timeout=PATIENCE_S)
                channel.exec_command(f"echo {session}; exit {number % 100}")
                assert channel.makefile().read().decode() == session + "\n"
                assert channel.recv_exit_status() == number % 100
            except BaseException:
                opened.abort()
                raise
            finally:
                transport.close()

        begin = time.monotonic()
        self.assertEqual(in_threads(len(sessions), connect), [])
        print(f"\n{len(sessions)} SSH connections open at once, half by tunnels of HAProxy and half by the port of any cell: "
              f"{time.monotonic() - begin:.1f} s")

    # --- Load ------------------------------------------------------------------------------------

    def test_rolling_updates_under_load(self):
        driver = subprocess.Popen([sys.executable, "-B", str(HERE / "driver.py"), str(self.cluster.port), TOKEN, str(RATE),
                                   str(CONNECTIONS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(driver.kill)
        driver.stdin.write(" ".join(self.sessions) + "\n")
        driver.stdin.flush()
        ends, starts = [], []
        cpu = [cell.cpu_s() for cell in self.cluster.cells.values()]
        time_of_load = max(5.0, 200 / RATE)
        time.sleep(time_of_load)  # the load is the test
        cpu = [after.cpu_s() - before for before, after in zip(cpu, self.cluster.cells.values())]
        for _ in range(UPDATES):
            for key in KEYS:
                begin = time.monotonic()
                self.assertEqual(self.cluster.cells[key].stop(), 0)
                ends.append(time.monotonic() - begin)
                begin = time.monotonic()
                self.cluster.start(key)
                starts.append(time.monotonic() - begin)
                until(lambda k=key: self.cluster.ask_at(self.cluster.ports[k], "/ready") == 200, "it is ready")
        time.sleep(time_of_load)
        out, _ = driver.communicate("")
        result = json.loads(out)
        print(f"\n{UPDATES} rolling updates of {len(KEYS)} cells with {SESSIONS} sessions: {result['count']} commands, "
              f"{result['count'] / result['seconds']:.0f} a second of {RATE:.0f} asked for; {len(result['failures'])} failed; "
              f"median {1000 * result['median_s']:.1f} ms, 99 % within {1000 * result['slow_s']:.0f} ms, longest "
              f"{result['longest_s']:.2f} s; a cell ended in {max(ends):.1f} s and listened {max(starts):.2f} s after its start at "
              f"most; {sum(cpu) / time_of_load:.2f} processors were the cells' before the updates")
        self.assertEqual(result["failures"], [])
        self.assertGreater(result["count"], 0)
        self.check_files(result["acknowledged"])

    def check_files(self, acknowledged):
        """Nothing that was acknowledged is lost, and nothing was done twice."""
        written = [session for session, lines in acknowledged.items() if lines]

        def check(number):
            connection = http.client.HTTPConnection("127.0.0.1", self.cluster.port, timeout=PATIENCE_S)
            for session in written[number::CREATORS]:
                status, content = self.cluster.ask("GET", f"/sessions/{session}/files?filePath=log", connection=connection)
                assert status == 200, content
                lines = sorted(int(word) for word in content.split())
                assert lines == sorted(acknowledged[session]), (session, lines, acknowledged[session])
            connection.close()

        self.assertEqual(in_threads(CREATORS, check), [])


if __name__ == "__main__":
    unittest.main()
