# SPDX-License-Identifier: Apache-2.0
"""One server among several: whose a session is, when it has no room, and how it ends."""
import http.client
import json
import re
import signal
import socket
import tempfile
import threading
import time
import unittest
from pathlib import Path

from server import PATIENCE_S, Server, until

TOKEN = "test-token-one"
LAST_CALL_S = 1.5  # less than a server that drains waits for a request


def cell(key: int, *words: str) -> Server:
    return Server("serve", "--cell-key", str(key), "--token", TOKEN, *words)


def listens(server: Server) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port)).close()
        return True
    except ConnectionError:
        return False


def figure(server: Server, name: str) -> float:
    page = server.ask("GET", "/metrics")[2].decode()
    return float(re.search(rf"^{re.escape(name)} (\S+)$", page, re.M)[1])


class Keys(unittest.TestCase):
    def test_a_session_of_another_cell_is_told_from_one_that_is_not_there(self):
        with cell(10) as server:
            status, session = server.json("POST", "/sessions", token=TOKEN)
            own = session["sessionId"]
            self.assertTrue(own.endswith("000a"), own)
            self.assertEqual(own[14], "4")
            foreign, missing = own[:-4] + "000b", own[:-5] + ("1" if own[-5] == "0" else "0") + "000a"
            for method, tail in [("GET", ""), ("DELETE", ""), ("POST", "/commands"), ("POST", "/code"),
                                 ("POST", "/pause"), ("POST", "/resume"), ("GET", "/files?filePath=f"),
                                 ("POST", "/files?path=f")]:
                status, headers, body = server.ask(method, f"/sessions/{foreign}{tail}", b"{}", token=TOKEN)
                self.assertEqual((status, headers["X-Cloche-Cell"]), (421, "11"), tail)
                self.assertEqual(json.loads(body)["error"], "WRONG_CELL")
                status, headers, body = server.ask(method, f"/sessions/{missing}{tail}", b"{}", token=TOKEN)
                self.assertEqual((status, headers["X-Cloche-Cell"]), (404, None), tail)
            for target, expected in [(foreign, 421), (missing, 404)]:
                connection = server.connection()
                connection.putrequest("CONNECT", f"/sessions/{target}", skip_host=True)
                connection.putheader("Host", "127.0.0.1")
                connection.putheader("Proxy-Authorization", f"Bearer {TOKEN}")
                connection.endheaders()
                answer = connection.getresponse()
                self.assertEqual(answer.status, expected)
                self.assertEqual(answer.headers["X-Cloche-Cell"], "11" if expected == 421 else None)
                connection.close()

    def test_steps_tell_it_too(self):
        with Server("sbs", "run", "--cell-key", "2") as server:
            own = server.json("POST", "/sessions")[1]["session_id"]
            self.assertTrue(own.endswith("0002"))
            foreign = own[:-4] + "0003"
            step = {"sandbox_id": foreign, "type": "bash", "payload": {"cmd": "true"}}
            for method, path, body in [("POST", f"/sessions/{foreign}/step", step), ("DELETE", f"/sessions/{foreign}", None)]:
                status, headers, _ = server.ask(method, path, body)
                self.assertEqual((status, headers["X-Cloche-Cell"]), (421, "3"))

    def test_cells_share_a_folder_and_no_state(self):
        with tempfile.TemporaryDirectory() as folder:
            with cell(1, "--state-dir", folder) as one, cell(2, "--state-dir", folder) as two:
                first = one.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
                second = two.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
            self.assertEqual([[p.stem for p in Path(folder, key).glob("*.session")] for key in "12"], [[first], [second]])
            with cell(2, "--state-dir", folder) as two:
                self.assertEqual(two.ask("GET", f"/sessions/{second}", token=TOKEN)[0], 200)
                self.assertEqual(two.ask("GET", f"/sessions/{first}", token=TOKEN)[0], 421)

    def test_a_key_that_is_none_is_refused(self):
        for key in ["0", "65536", "-1", "a", ""]:
            with self.assertRaisesRegex(RuntimeError, "--cell-key wants"):
                cell(key)


class Room(unittest.TestCase):
    def test_a_full_cell_is_told_from_an_owner_who_has_enough(self):
        with cell(1, "--max-sessions", "3", "--max-token-sessions", "2", "--token", "other") as server:
            create = lambda token: server.ask("POST", "/sessions", token=token)
            self.assertEqual(figure(server, "cloche_headroom"), 1)
            ids = [json.loads(create(TOKEN)[2])["sessionId"] for _ in range(2)]
            status, headers, body = create(TOKEN)
            self.assertEqual((status, json.loads(body)["error"], headers["Retry-After"]), (429, "RATE_LIMITED", None))
            self.assertEqual(create("other")[0], 200)
            status, headers, body = create("other")
            self.assertEqual((status, json.loads(body)["error"]), (503, "CELL_FULL"))
            self.assertTrue(headers["Retry-After"].isdigit())
            self.assertEqual(figure(server, "cloche_headroom"), 0)
            self.assertEqual(figure(server, "cloche_sessions_limit"), 3)
            self.assertGreater(figure(server, "cloche_memory_bytes"), 1 << 20)
            self.assertEqual(figure(server, 'cloche_creates_refused_total{reason="owner"}'), 1)
            self.assertEqual(figure(server, 'cloche_creates_refused_total{reason="sessions"}'), 1)
            self.assertEqual(figure(server, "cloche_create_seconds_count"), 3)
            self.assertEqual(server.ask("DELETE", f"/sessions/{ids[0]}", token=TOKEN)[0], 200)
            self.assertEqual(create("other")[0], 200)

    def test_what_runs_and_how_long_it_waited_is_measured(self):
        with cell(1) as server:
            path = "/sessions/" + server.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
            thread = threading.Thread(target=server.ask, args=("POST", path + "/commands"),
                                      kwargs={"body": {"command": "until test -e go; do sleep 0.01; done"}, "token": TOKEN})
            thread.start()
            until(lambda: figure(server, "cloche_commands_running") == 1, "one command runs")
            server.ask("POST", path + "/files?path=go", b"x", token=TOKEN)
            thread.join()
            self.assertEqual(figure(server, "cloche_commands_running"), 0)
            self.assertEqual(figure(server, "cloche_command_wait_seconds_count"), 1)


class Draining(unittest.TestCase):
    def end(self, server):
        server.process.send_signal(signal.SIGTERM)
        until(lambda: "ending" in server.log(), "the server has heard it")

    def test_before_it_ends_it_says_so_and_answers(self):
        with cell(1, "--drain-notice", "600") as server:
            path = "/sessions/" + server.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
            kept = server.connection()
            self.assertEqual(server.ask("GET", "/ready", connection=kept)[0], 200)
            self.end(server)
            # A connection that was there is told with its next answer that it is over.
            status, headers, _ = server.ask("GET", "/ready", connection=kept)
            self.assertEqual((status, headers["Connection"]), (503, "close"))
            self.assertEqual(server.ask("GET", "/health")[0], 200)
            status, headers, body = server.ask("POST", "/sessions", token=TOKEN)
            self.assertEqual((status, json.loads(body)["error"]), (503, "CELL_FULL"))
            status, result = server.json("POST", path + "/commands", {"command": "echo served"}, token=TOKEN)
            self.assertEqual((status, result["stdout"]), (200, "served\n"))
            server.process.send_signal(signal.SIGTERM)  # the second one ends it at once
            self.assertEqual(server.process.wait(), -signal.SIGTERM)

    def test_who_has_connected_is_answered_once(self):
        self.assertTrue(any(self.is_answered_once() for _ in range(20)), "this machine is too slow for its last call")

    def is_answered_once(self) -> bool:
        """False where the request came later than the server waits for it."""
        with cell(1, "--drain", "600") as server, socket.create_connection(("127.0.0.1", server.port)) as early:
            told = time.monotonic()
            self.end(server)
            until(lambda: not listens(server), "it takes no connection any more")
            try:
                early.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                in_time = time.monotonic() - told < LAST_CALL_S
                answer = early.makefile("rb").read()
            except ConnectionError:
                in_time, answer = time.monotonic() - told < LAST_CALL_S, b""
            if not answer and not in_time:
                return False
            self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)
            self.assertIn(b"\r\nConnection: close\r\n", answer)
            self.assertEqual(server.process.wait(), 0)
            return True

    def test_who_connects_meanwhile_loses_no_request(self):
        for _ in range(12):
            self.assertEqual(self.lost_requests(threads=24, keeps=False), [])

    def test_who_keeps_a_connection_loses_no_request(self):
        for _ in range(4):
            self.assertEqual(self.lost_requests(threads=8, keeps=True), [])

    def lost_requests(self, threads: int, keeps: bool) -> list:
        """What came instead of answers, where so many clients ask again and again while a server ends."""
        lost, ended = [], threading.Event()
        with cell(1) as server:
            def ask_again_and_again():
                while not ended.is_set():
                    try:
                        sock = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
                    except ConnectionError:
                        time.sleep(0.001)
                        continue
                    answer = b""
                    while not answer or keeps and b"\r\nConnection: close\r\n" not in answer and not ended.is_set():
                        try:
                            sock.sendall(b"GET /sessions HTTP/1.1\r\nHost: localhost\r\n\r\n")
                            answer = sock.recv(4096)
                        except ConnectionError as error:
                            answer = str(error).encode()
                        if not answer.startswith(b"HTTP/1.1 401 "):
                            lost.append(answer)
                            break
                    sock.close()

            clients = [threading.Thread(target=ask_again_and_again) for _ in range(threads)]
            for client in clients:
                client.start()
            time.sleep(0.3)  # the load is the test
            self.end(server)
            self.assertEqual(server.process.wait(), 0)
            ended.set()
            for client in clients:
                client.join()
        return lost

    def test_who_has_connected_and_says_nothing_does_not_hold_it_up(self):
        with cell(1, "--drain", "600") as server, socket.create_connection(("127.0.0.1", server.port)):
            self.end(server)
            self.assertEqual(server.process.wait(), 0)

    def test_what_runs_may_end(self):
        with tempfile.TemporaryDirectory() as folder:
            with cell(1, "--state-dir", folder, "--drain", "600") as server:
                path = "/sessions/" + server.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
                answers = []
                # It has begun when the server hears that it is to end, and goes on for a while after that.
                command = "echo begun > begun; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; echo done | tee end"
                thread = threading.Thread(target=lambda: answers.append(
                    server.json("POST", path + "/commands", {"command": command}, token=TOKEN)))
                thread.start()
                until(lambda: server.ask("GET", path + "/files?filePath=begun", token=TOKEN)[0] == 200, "it has begun")
                self.end(server)
                thread.join()
                self.assertEqual(answers, [(200, {"status": "completed", "exitCode": 0, "stdout": "done\n", "stderr": ""})])
                self.assertEqual(server.process.wait(), 0)
            with cell(1, "--state-dir", folder) as server:
                self.assertEqual(server.ask("GET", path + "/files?filePath=end", token=TOKEN)[2], b"done\n")

    def test_what_does_not_end_is_killed_and_its_files_are_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            with cell(1, "--state-dir", folder, "--drain", "0") as server:
                path = "/sessions/" + server.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
                thread = threading.Thread(target=self.ask_and_forget, args=(server, path))
                thread.start()
                until(lambda: server.ask("GET", path + "/files?filePath=begun", token=TOKEN)[0] == 200, "it has begun")
                self.assertEqual(server.stop(), 0)
                thread.join()
            with cell(1, "--state-dir", folder) as server:
                self.assertEqual(server.ask("GET", path + "/files?filePath=begun", token=TOKEN)[2], b"begun\n")

    def log_in(self, server):
        import paramiko
        session = server.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
        transport = paramiko.Transport(("127.0.0.1", server.ssh_port))
        self.addCleanup(transport.close)
        transport.connect(username="sandbox+" + session, password=TOKEN)
        return transport

    def test_ssh_ends_with_what_runs_in_it(self):
        with Server("serve", "--token", TOKEN, "--drain", "600", ssh=True) as server:
            idle, busy = self.log_in(server), self.log_in(server)
            channel = busy.open_session()
            channel.exec_command("echo begun; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; echo done; exit 3")
            self.assertEqual(channel.recv(6), b"begun\n")
            used = idle.open_session()
            used.exec_command("true")
            self.assertEqual(used.recv_exit_status(), 0)
            self.end(server)
            self.assertEqual((channel.makefile().read(), channel.recv_exit_status()), (b"done\n", 3))
            self.assertEqual(server.process.wait(), 0)

    @staticmethod
    def ask_and_forget(server, path):
        try:
            server.ask("POST", path + "/commands", {"command": "echo begun > begun; sleep 250"}, token=TOKEN)
        except (OSError, http.client.HTTPException):
            pass  # the connection may end without an answer


if __name__ == "__main__":
    unittest.main()
