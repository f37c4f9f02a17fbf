# SPDX-License-Identifier: Apache-2.0
"""`--isolate owner`: each owner's sandboxes in a process of their own."""
import base64
import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from isolation import ALICE, BOB, Isolated, is_there
from server import PROGRAM, Server, until
from websocket import Rpc

class Owners(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Isolated()
        cls.addClassCleanup(cls.server.stop)

    def test_each_has_a_process(self):
        server = self.server
        hers, his = server.create(ALICE), server.create(BOB)
        self.assertNotEqual(hers[-4:], his[-4:])
        self.assertEqual(server.create(ALICE)[-4:], hers[-4:])
        one, other = server.worker_of(hers, ALICE), server.worker_of(his, BOB)
        self.assertNotEqual(one, other)
        self.assertEqual(sorted([one, other]), sorted(server.workers()))
        for pid in [one, other]:
            status = Path(f"/proc/{pid}/status").read_text()
            self.assertIn("NoNewPrivs:\t1", status)
            self.assertIn("Seccomp:\t2", status)

    def test_nobody_sees_another_ones(self):
        server = self.server
        hers = server.create(ALICE)
        self.assertEqual(server.ask("GET", f"/sessions/{hers}", token=BOB)[0], 404)
        self.assertEqual(server.run(hers, "true", BOB)[0], 404)
        self.assertEqual(server.ask("GET", f"/sessions/{hers}", token="none")[0], 401)
        self.assertNotIn(hers, server.ask("GET", "/sessions", token=BOB)[2].decode())
        self.assertIn(hers, server.ask("GET", "/sessions", token=ALICE)[2].decode())
        self.assertEqual(server.ask("DELETE", f"/sessions/{hers}", token=BOB)[0], 404)
        self.assertEqual(server.ask("DELETE", f"/sessions/{hers}", token=ALICE)[0], 200)

    def test_a_new_token_is_one_in_a_worker_that_is_there(self):
        with Isolated() as server:
            def status(token):
                basic = base64.b64encode(f"_:{token}".encode()).decode()
                return server.ask("POST", "/run_code", {"code": "print(1)", "language": "python"},
                                  headers={"Authorization": "Basic " + basic})[0]
            server.create()
            self.assertEqual(status(ALICE), 200)
            server.tokens.seek(0)
            server.tokens.truncate()
            print("alice", hashlib.sha256(b"another-token").hexdigest(), file=server.tokens, flush=True)
            until(lambda: status(ALICE) == 401, "the old token has gone")
            self.assertEqual(status("another-token"), 200)

    def test_large_files_come_through(self):
        server = self.server
        session = server.create()
        large = os.urandom(3_000_000)
        path = f"/v1/sessions/{session}/files"
        self.assertEqual(server.ask("POST", path + "?path=large&overwrite=true", large, token=ALICE)[0], 201)
        self.assertEqual(server.ask("GET", path + "?filePath=large", token=ALICE)[2], large)

    def test_tunnels_come_through(self):
        import paramiko
        session = self.server.create()
        for password, good in [(ALICE, True), (BOB, False)]:
            with socket.create_connection(("127.0.0.1", self.server.port)) as sock:
                sock.sendall(f"CONNECT /sessions/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             f"Authorization: Bearer {ALICE}\r\n\r\n".encode())
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += sock.recv(1)
                self.assertTrue(head.startswith(b"HTTP/1.1 200 "), head)
                transport = paramiko.Transport(sock)
                try:
                    if not good:
                        with self.assertRaises(paramiko.AuthenticationException):
                            transport.connect(username="sandbox", password=password)
                        continue
                    transport.connect(username="sandbox", password=password)
                    channel = transport.open_session()
                    channel.exec_command("cat > f; wc -c < f; exit 5")
                    channel.sendall(b"x" * 200_000)
                    channel.shutdown_write()
                    self.assertEqual((channel.makefile().read(), channel.recv_exit_status()), (b"200000\n", 5))
                finally:
                    transport.close()

    def test_web_sockets_come_through(self):
        rpc = Rpc(self.server.port, ALICE)
        self.addCleanup(rpc.socket.close)
        self.assertTrue(rpc.call("ping")["ok"])

    def test_what_follows_a_request_is_asked_for_its_token(self):
        head = f"GET /sessions/{self.server.create()} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for upgrade in ["", "Connection: Upgrade\r\nUpgrade: websocket\r\n"]:
            with socket.create_connection(("127.0.0.1", self.server.port)) as sock:
                sock.sendall(f"{head}Authorization: Bearer {ALICE}\r\n{upgrade}\r\n".encode())
                got = sock.recv(65536)
                with contextlib.suppress(OSError):
                    sock.sendall(f"{head}\r\n".encode())
                    while more := sock.recv(65536):
                        got += more
            self.assertTrue(got.startswith(b"HTTP/1.1 200 "), got)
            self.assertIn(b"\r\nConnection: close\r\n", got)
            self.assertEqual(got.count(b"\r\nDate: "), 1, got)

    def test_agents_are_their_owners(self):
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
        accept = {"Accept": "application/json, text/event-stream"}
        status, fields, _ = self.server.ask("POST", "/mcp", hello, token=ALICE, headers=accept)
        self.assertEqual(status, 200)
        more = {**accept, "Mcp-Session-Id": fields["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-06-18"}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        self.assertEqual(self.server.ask("POST", "/mcp", listing, token=ALICE, headers=more)[0], 200)
        self.assertEqual(self.server.ask("POST", "/mcp", listing, token=BOB, headers=more)[0], 404)

    def test_figures_are_of_all(self):
        server = self.server
        before = server.figure("cloche_sessions"), server.figure("cloche_commands_total")
        for token in [ALICE, BOB]:
            server.output(server.create(token), "true", token)
        self.assertEqual(server.figure("cloche_sessions"), before[0] + 2)
        self.assertEqual(server.figure("cloche_commands_total"), before[1] + 2)
        self.assertEqual(server.figure("cloche_workers"), 2)

    def test_what_everybody_may_ask_wakes_no_worker(self):
        with Isolated() as server:
            for path in ["/health", "/ready", "/openapi.json", "/docs", "/metrics", "/console"]:
                self.assertEqual(server.ask("GET", path)[0], 200, path)
            self.assertEqual(server.ask("GET", "/sessions", token="none")[0], 401)
            self.assertEqual(server.workers(), [])


class Faults(unittest.TestCase):
    def test_a_crash_loses_what_ran_of_one_owner(self):
        with tempfile.TemporaryDirectory() as states, Isolated("--state-dir", states) as server:
            hers, his = server.create(ALICE), server.create(BOB)
            server.output(hers, "echo kept > file")
            server.output(his, "echo his > file", BOB)
            worker = server.worker_of(hers)
            in_flight = []
            waiting = threading.Thread(target=lambda: in_flight.append(
                server.run(hers, "touch started; sleep 60")))
            waiting.start()
            until(lambda: server.ask("GET", f"/sessions/{hers}/files?filePath=started", token=ALICE)[0] == 200,
                  "the command runs")
            os.kill(worker, signal.SIGKILL)
            waiting.join()
            [(status, error)] = in_flight
            self.assertEqual((status, error["error"]), (502, "INTERNAL_ERROR"))
            self.assertEqual(server.output(his, "cat file", BOB), "his\n")
            self.assertEqual(server.output(hers, "cat file"), "kept\n")
            self.assertEqual(len(server.workers()), 2)
            self.assertIn("killed by signal 9", server.log())
            self.assertEqual(server.figure('cloche_workers_ended_total{how="crashed"}'), 1)

    def test_without_a_state_folder_a_crash_ends_its_sessions(self):
        with Isolated() as server:
            hers, his = server.create(ALICE), server.create(BOB)
            os.kill(server.worker_of(hers), signal.SIGKILL)
            # What is asked while it dies is 502.
            until(lambda: server.ask("GET", f"/sessions/{hers}", token=ALICE)[0] == 404, "there is another one")
            self.assertEqual(server.output(his, "echo there", BOB), "there\n")

    def test_a_restart_has_all_sessions(self):
        with tempfile.TemporaryDirectory() as states:
            with Isolated("--state-dir", states) as server:
                sessions = {token: server.create(token) for token in [BOB, ALICE]}
                for token, session in sessions.items():
                    server.output(session, "echo $HOSTNAME-kept > file", token)
                self.assertEqual(sorted(p.name for p in Path(states).iterdir() if p.is_dir()), ["1", "2"])
            with Isolated("--state-dir", states) as server:
                for token, session in reversed(sessions.items()):
                    self.assertIn("-kept", server.output(session, "cat file", token))
                second = subprocess.run([PROGRAM, "serve", "--port", "0", "--isolate", "owner", "--state-dir", states],
                                        stderr=subprocess.PIPE, text=True)
                self.assertNotEqual(second.returncode, 0)
                self.assertIn(states, second.stderr)

    def test_one_with_too_much_memory_is_ended(self):
        with Isolated("--worker-memory", "150M") as server:
            hers, his = server.create(ALICE), server.create(BOB)
            status, error = server.run(hers, "python3 -c 'x = bytearray(400 << 20); import time; time.sleep(60)'")
            self.assertEqual((status, error["error"]), (502, "INTERNAL_ERROR"))
            self.assertEqual(server.output(his, "echo there", BOB), "there\n")
            until(lambda: "more memory than a worker may have" in server.log(), "the reason is told")

    def test_one_that_has_nothing_ends(self):
        with Isolated("--worker-idle", "1") as server:
            session = server.create()
            self.assertEqual(server.ask("DELETE", f"/sessions/{session}", token=ALICE)[0], 200)
            until(lambda: not server.workers(), "the worker ends")
            self.assertEqual(server.create()[-4:], session[-4:])

    def test_there_are_as_many_as_may_be(self):
        with Isolated("--max-workers", "1") as server:
            session = server.create(ALICE)
            status, headers, body = server.ask("POST", "/sessions", {}, token=BOB)
            self.assertEqual((status, headers["Retry-After"]), (503, "2"))
            self.assertIn("workers are in use", json.loads(body)["message"])
            self.assertEqual(server.ask("DELETE", f"/sessions/{session}", token=ALICE)[0], 200)
            until(lambda: server.ask("POST", "/sessions", {}, token=BOB)[0] == 200, "there is room")


class Ends(unittest.TestCase):
    def all_of(self, server) -> list:
        server.create(ALICE), server.create(BOB)
        pids = [server.spawner(), *server.workers()]
        self.assertEqual(len(pids), 3)
        return pids

    def test_sigterm_ends_all(self):
        with tempfile.TemporaryDirectory() as states:
            server = Isolated("--state-dir", states)
            pids = self.all_of(server)
            self.assertEqual(server.stop(), 0)
            self.assertEqual([pid for pid in pids if is_there(pid)], [])
            self.assertEqual([path for path in Path(states).rglob("*") if path.is_socket()], [])

    def test_what_runs_has_its_time(self):
        server = Isolated("--drain", "60")
        session = server.create()
        ended, (status, result) = server.stop_beside_a_command(session)
        self.assertEqual(ended, 0)
        self.assertEqual((status, result["stdout"]), (200, "done\n"))

    def test_a_killed_server_leaves_none(self):
        server = Isolated()
        pids = self.all_of(server)
        server.process.kill()
        server.process.wait()
        until(lambda: not any(is_there(pid) for pid in pids), "all have ended")

    def test_without_its_spawner_it_ends(self):
        server = Isolated()
        pids = self.all_of(server)
        os.kill(server.spawner(), signal.SIGKILL)
        self.assertEqual(server.process.wait(), 1, "a supervisor starts it anew")
        until(lambda: not any(is_there(pid) for pid in pids), "all have ended")


class Steps(unittest.TestCase):
    def test_steps_are_in_a_worker(self):
        with Server("sbs", "run", "--isolate", "owner") as server:
            status, session = server.json("POST", "/sessions")
            self.assertEqual(status, 200)
            [identity] = session.values()
            body = {"sandbox_id": identity, "type": "bash", "payload": {"cmd": "echo hello"}}
            self.assertEqual(server.json("POST", f"/sessions/{identity}/step", body)[1]["output"], "hello\n")
            self.assertEqual(server.ask("DELETE", f"/sessions/{identity}")[0], 204)

    def test_what_follows_a_request_reaches_no_worker(self):
        with Isolated("--api", "steps") as server:
            server.json("POST", "/v1/sessions", {}, token=ALICE)
            # An id that its first owner's worker would have.
            path = "/sessions/00000000-0000-4000-8000-000000000001"
            with socket.create_connection(("127.0.0.1", server.port)) as sock:
                sock.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n\r\n".encode())
                got = sock.recv(65536)
                with contextlib.suppress(OSError):
                    sock.sendall(b"GET /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                    while more := sock.recv(65536):
                        got += more
            self.assertTrue(got.startswith(b"HTTP/1.1 405 "), got)
            self.assertEqual(got.count(b"HTTP/1.1 "), 1, got)


class Options(unittest.TestCase):
    def test_what_does_not_go_together(self):
        for words, sentence in [(["--isolate", "all"], "wants owner or session"),
                                (["--isolate", "owner", "--cell-key", "1"], "keys of cells"),
                                (["--isolate", "owner", "--ssh-port", "0"], "by the tunnel"),
                                (["--isolate", "owner", "--token", "t"], "--tokens-file"),
                                (["--max-workers", "3"], "without --isolate")]:
            done = subprocess.run([PROGRAM, "serve", *words], stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
