# SPDX-License-Identifier: Apache-2.0
"""`--isolate session`: each session in a process of its own."""
import contextlib
import json
import os
import signal
import socket
import tempfile
import threading
import unittest
from pathlib import Path

from isolation import ALICE, BOB, Isolated, is_there
from remote_sdk_test import Sandbox, Wire
from server import Server, until
from websocket import Refused, Rpc


class BySession(Isolated):
    def __init__(self, *words, **more):
        super().__init__(*words, by="session", **more)

    def sessions(self, token=ALICE, query="") -> dict:
        status, page = self.json("GET", "/sessions" + query, token=token)
        assert status == 200, page
        return page

    def kill_worker_of(self, session, token=ALICE) -> None:
        worker = self.worker_of(session, token)
        os.kill(worker, signal.SIGKILL)
        until(lambda: not is_there(worker), "it has ended")


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = BySession("--max-workers", "40")
        cls.addClassCleanup(cls.server.stop)

    def test_each_has_a_process(self):
        server = self.server
        before = set(server.workers())
        sessions = [server.create(ALICE), server.create(ALICE), server.create(BOB)]
        workers = [server.worker_of(session, token) for session, token in zip(sessions, [ALICE, ALICE, BOB])]
        self.assertEqual(len(set(workers)), 3)
        self.assertEqual(set(workers), set(server.workers()) - before)
        self.assertEqual(len({session[-4:] for session in sessions}), 3)
        for pid in workers:
            status = Path(f"/proc/{pid}/status").read_text()
            self.assertIn("NoNewPrivs:\t1", status)
            self.assertIn("Seccomp:\t2", status)

    def test_a_process_ends_with_its_session(self):
        server = self.server
        before = set(server.workers())
        session = server.create()
        [worker] = set(server.workers()) - before
        server.output(session, "sleep 1000 & echo started")
        self.assertEqual(server.ask("DELETE", f"/sessions/{session}", token=ALICE)[0], 200)
        self.assertEqual(server.ask("GET", f"/sessions/{session}", token=ALICE)[0], 404)
        until(lambda: not is_there(worker), "the worker ends")
        self.assertEqual(server.ask("GET", f"/sessions/{session}", token=ALICE)[0], 404)
        self.assertEqual(server.run(session, "true")[0], 404)

    def test_one_that_is_refused_leaves_no_process(self):
        server = self.server
        before = set(server.workers())
        status, error = server.json("POST", "/sessions", {"ttl": 1}, token=ALICE)
        self.assertEqual((status, error["error"]), (400, "INVALID_TTL"))
        until(lambda: set(server.workers()) <= before, "the worker ends")

    def test_nobody_sees_another_ones(self):
        server = self.server
        hers = server.create(ALICE)
        for token, status in [(BOB, 404), ("none", 401)]:
            self.assertEqual(server.ask("GET", f"/sessions/{hers}", token=token)[0], status)
            self.assertEqual(server.ask("DELETE", f"/sessions/{hers}", token=token)[0], status)
            self.assertEqual(server.run(hers, "true", token)[0], status)
        self.assertNotIn(hers, json.dumps(server.sessions(BOB)))
        self.assertEqual(server.output(hers, "echo there"), "there\n")

    def test_lists_are_of_all_of_an_owner_newest_first(self):
        server = self.server
        sessions = [server.create() for _ in range(3)]
        page = server.sessions(query="?limit=100")
        self.assertEqual([each["sessionId"] for each in page["sessions"]][:3], sessions[::-1])
        self.assertEqual(page["total"], len(page["sessions"]))
        second = server.sessions(query="?limit=1&offset=1")
        self.assertEqual([each["sessionId"] for each in second["sessions"]], sessions[1:2])
        self.assertEqual(second["total"], page["total"])
        self.assertEqual(server.ask("GET", "/sessions?limit=0", token=ALICE)[0], 400)

    def test_one_that_is_asked_for_again_is_the_same(self):
        server = self.server
        key = {"Idempotency-Key": os.urandom(8).hex()}
        answers = [server.ask("POST", "/sessions", {}, token=ALICE, headers=key) for _ in range(2)]
        self.assertEqual([answer[0] for answer in answers], [200, 200])
        self.assertEqual(answers[0][2], answers[1][2])
        self.assertEqual(answers[1][1]["X-Cloche-Replayed"], "true")

    def test_pause_and_resume(self):
        server = self.server
        session = server.create()
        server.output(session, "echo kept > file")
        self.assertEqual(server.json("POST", f"/sessions/{session}/pause", token=ALICE)[1]["status"], "paused")
        self.assertEqual(server.run(session, "true")[0], 409)
        self.assertEqual(server.json("POST", f"/sessions/{session}/resume", token=ALICE)[0], 200)
        self.assertEqual(server.output(session, "cat file"), "kept\n")

    def test_large_files_come_through(self):
        server = self.server
        large = os.urandom(3_000_000)
        path = f"/v1/sessions/{server.create()}/files"
        self.assertEqual(server.ask("POST", path + "?path=large&overwrite=true", large, token=ALICE)[0], 201)
        self.assertEqual(server.ask("GET", path + "?filePath=large", token=ALICE)[2], large)

    def test_tunnels_come_through(self):
        import paramiko
        session = self.server.create()
        with socket.create_connection(("127.0.0.1", self.server.port)) as sock:
            sock.sendall(f"CONNECT /sessions/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                         f"Authorization: Bearer {ALICE}\r\n\r\n".encode())
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += sock.recv(1)
            self.assertTrue(head.startswith(b"HTTP/1.1 200 "), head)
            transport = paramiko.Transport(sock)
            self.addCleanup(transport.close)
            transport.connect(username="sandbox", password=ALICE)
            channel = transport.open_session()
            channel.exec_command("cat > f; wc -c < f; exit 5")
            channel.sendall(b"x" * 200_000)
            channel.shutdown_write()
            self.assertEqual((channel.makefile().read(), channel.recv_exit_status()), (b"200000\n", 5))

    def test_web_sockets_have_a_process_of_their_own_or_that_of_a_session(self):
        server = self.server
        session = server.create()
        server.output(session, "echo kept > file")
        before = set(server.workers())
        rpc = Rpc(server.port, ALICE)
        made = rpc.call("create", ttl=600)["sessionId"]
        self.assertEqual(rpc.call("run", command="echo hi")["stdout"], "hi\n")
        [worker] = set(server.workers()) - before
        self.assertEqual(server.output(made, "echo by REST"), "by REST\n")
        self.assertIn(made, json.dumps(server.sessions()))
        rpc.socket.close()
        self.assertTrue(is_there(worker))
        self.assertEqual(server.ask("DELETE", f"/sessions/{made}", token=ALICE)[0], 200)
        until(lambda: not is_there(worker), "the worker ends with its session")
        other = Rpc(server.port, ALICE, path=f"/rpc?session={session}")
        self.addCleanup(other.socket.close)
        other.call("create", sessionId=session)
        self.assertEqual(other.call("run", command="cat file")["stdout"], "kept\n")
        with self.assertRaises(Refused) as refused:
            Rpc(server.port, BOB, path=f"/rpc?session={session}")
        self.assertEqual(refused.exception.status, 404)

    def test_the_python_package_finds_its_sessions_again(self):
        session = self.server.create()
        self.server.output(session, "echo kept > file")
        wire = Wire(self.server.port)
        self.addCleanup(wire.listener.close)
        url = f"http://127.0.0.1:{wire.port}"
        with Sandbox(url=url, token=ALICE) as made, \
                Sandbox(url=f"{url}/rpc?session={session}", token=ALICE, session_id=session) as found:
            made.files.write("file", b"made")
            wire.cut()
            self.assertEqual(made.files.read("file"), b"made")
            self.assertEqual(found.files.read("file"), b"kept\n")

    def test_agents_and_gradings_are_their_owners(self):
        server = self.server
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
        accept = {"Accept": "application/json, text/event-stream"}
        status, fields, _ = server.ask("POST", "/mcp", hello, token=ALICE, headers=accept)
        self.assertEqual(status, 200)
        more = {**accept, "Mcp-Session-Id": fields["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-06-18"}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        self.assertEqual(server.ask("POST", "/mcp", listing, token=ALICE, headers=more)[0], 200)
        self.assertEqual(server.ask("POST", "/mcp", listing, token=BOB, headers=more)[0], 404)
        status, graded = server.json("POST", "/run_code", {"code": "print(6 * 7)", "language": "python"}, token=ALICE)
        self.assertEqual((status, graded["run_result"]["stdout"]), (200, "42\n"))

    def test_figures_are_of_all_and_of_those_that_have_ended(self):
        server = self.server
        before = server.figure("cloche_sessions"), server.figure("cloche_commands_total")
        sessions = [server.create(token) for token in [ALICE, BOB]]
        for session, token in zip(sessions, [ALICE, BOB]):
            server.output(session, "true", token)
        self.assertEqual(server.figure("cloche_sessions"), before[0] + 2)
        self.assertLess(server.figure("cloche_headroom"), 1)
        # Nobody has read the second one's figures before it ends.
        server.output(sessions[0], "true")
        workers = len(server.workers())
        self.assertEqual(server.ask("DELETE", f"/sessions/{sessions[0]}", token=ALICE)[0], 200)
        until(lambda: len(server.workers()) < workers, "the worker ends")
        until(lambda: server.figure("cloche_sessions") == before[0] + 1, "it is no session any more")
        self.assertEqual(server.figure("cloche_commands_total"), before[1] + 3)

    def test_what_everybody_may_ask_wakes_no_worker(self):
        with BySession() as server:
            for path in ["/health", "/ready", "/openapi.json", "/docs", "/metrics"]:
                self.assertEqual(server.ask("GET", path)[0], 200, path)
            self.assertEqual(server.ask("GET", "/console")[0], 401)
            self.assertEqual(server.ask("GET", "/sessions", token="none")[0], 401)
            self.assertEqual(server.sessions(), {"sessions": [], "total": 0, "limit": 50, "offset": 0})
            self.assertEqual(server.workers(), [])


class Limits(unittest.TestCase):
    def test_there_are_as_many_as_may_be(self):
        with BySession("--max-workers", "2") as server:
            sessions = [server.create(ALICE), server.create(BOB)]
            status, headers, body = server.ask("POST", "/sessions", {}, token=ALICE)
            error = json.loads(body)
            self.assertEqual((status, error["error"]), (503, "CELL_FULL"))
            self.assertIn("all 2 workers are in use", error["message"])
            self.assertIn("Retry-After", headers)
            self.assertEqual(server.figure("cloche_headroom"), 0)
            self.assertEqual(server.output(sessions[0], "echo there"), "there\n")
            self.assertEqual(server.ask("DELETE", f"/sessions/{sessions[0]}", token=ALICE)[0], 200)
            until(lambda: server.ask("POST", "/sessions", {}, token=ALICE)[0] == 200, "there is room")

    def test_a_token_has_as_many_as_it_may_have(self):
        with BySession("--max-token-sessions", "2") as server:
            for _ in range(2):
                session = server.create(ALICE)
            status, error = server.json("POST", "/sessions", {}, token=ALICE)
            self.assertEqual((status, error["error"]), (429, "RATE_LIMITED"))
            server.create(BOB)
            self.assertEqual(server.ask("DELETE", f"/sessions/{session}", token=ALICE)[0], 200)
            until(lambda: server.ask("POST", "/sessions", {}, token=ALICE)[0] == 200, "there is room")

    def test_requests_are_counted_over_all_of_them(self):
        with BySession("--rate-limit", "6") as server:
            sessions = [server.create(), server.create()]
            told = [server.run(sessions[i % 2], "true")[0] for i in range(6)]
            self.assertEqual(told, [200] * 4 + [429] * 2)
            self.assertEqual(server.ask("GET", "/sessions", token=ALICE)[0], 429)
            self.assertEqual(server.ask("GET", "/sessions", token=BOB)[0], 200)

    def test_what_follows_a_request_is_counted(self):
        with BySession("--rate-limit", "5") as server:
            session = server.create()
            head = f"GET /sessions/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ALICE}\r\n"
            with socket.create_connection(("127.0.0.1", server.port)) as sock:
                sock.sendall(f"{head}Upgrade: websocket\r\n\r\n".encode())
                got = sock.recv(65536)
                with contextlib.suppress(OSError):
                    sock.sendall(f"{head}\r\n".encode() * 11 + f"{head}Connection: close\r\n\r\n".encode())
                    while more := sock.recv(65536):
                        got += more
            self.assertEqual(got.count(b"HTTP/1.1 200 "), 1, got)

    def test_one_with_too_much_memory_is_ended(self):
        with BySession("--worker-memory", "150M") as server:
            greedy, honest = server.create(), server.create()
            status, error = server.run(greedy, "python3 -c 'x = bytearray(400 << 20); import time; time.sleep(60)'")
            self.assertEqual((status, error["error"]), (502, "INTERNAL_ERROR"))
            self.assertEqual(server.output(honest, "echo there"), "there\n")
            until(lambda: "more memory than a worker may have" in server.log(), "the reason is told")
            until(lambda: server.ask("GET", f"/sessions/{greedy}", token=ALICE)[0] == 404, "there is none any more")

    def test_one_that_has_expired_ends(self):
        with BySession("--idle-timeout", "1", "--worker-idle", "1") as server:
            session = server.create()
            until(lambda: not server.workers(), "the worker ends")
            self.assertEqual(server.ask("GET", f"/sessions/{session}", token=ALICE)[0], 404)


class Crashes(unittest.TestCase):
    def test_one_loses_what_ran_in_its_session_alone(self):
        with tempfile.TemporaryDirectory() as states, BySession("--state-dir", states) as server:
            crashed, other, his = server.create(ALICE), server.create(ALICE), server.create(BOB)
            for session, token in [(crashed, ALICE), (other, ALICE), (his, BOB)]:
                server.output(session, "echo kept > file", token)
            worker = server.worker_of(crashed)
            answers = {}

            def run(session, command):
                answers[session] = server.run(session, command)

            threads = [threading.Thread(target=run, args=(crashed, "touch started; sleep 60")),
                       threading.Thread(target=run, args=(other, "touch started; until [ -e go ]; do sleep 0.02; done; echo done"))]
            for thread in threads:
                thread.start()
            for session in [crashed, other]:
                until(lambda: server.ask("GET", f"/sessions/{session}/files?filePath=started", token=ALICE)[0] == 200,
                      "the command runs")
            os.kill(worker, signal.SIGKILL)
            threads[0].join()
            self.assertEqual((answers[crashed][0], answers[crashed][1]["error"]), (502, "INTERNAL_ERROR"))
            self.assertEqual(server.output(his, "cat file", BOB), "kept\n")
            self.assertEqual(server.output(other, "touch go; cat file"), "kept\n")
            threads[1].join()
            self.assertEqual((answers[other][0], answers[other][1]["stdout"]), (200, "done\n"))
            # It is in lists again without having been asked for, and what was acknowledged is there.
            until(lambda: server.sessions()["total"] == 2, "its next worker has it")
            self.assertEqual(server.output(crashed, "cat file"), "kept\n")
            self.assertEqual(server.figure('cloche_workers_ended_total{how="crashed"}'), 1)

    def test_without_a_state_folder_it_is_no_session_any_more(self):
        with BySession() as server:
            crashed, other = server.create(), server.create()
            server.kill_worker_of(crashed)
            until(lambda: server.ask("GET", f"/sessions/{crashed}", token=ALICE)[0] == 404, "it is gone")
            self.assertEqual(server.output(other, "echo there"), "there\n")
            self.assertEqual(server.sessions()["total"], 1)

    def test_a_restart_has_all_sessions_and_no_more(self):
        with tempfile.TemporaryDirectory() as states:
            with BySession("--state-dir", states) as server:
                sessions = [server.create() for _ in range(3)]
                for session in sessions:
                    server.output(session, f"echo {session} > file")
                self.assertEqual(server.ask("DELETE", f"/sessions/{sessions[0]}", token=ALICE)[0], 200)
                self.assertEqual(server.json("POST", f"/sessions/{sessions[1]}/pause", token=ALICE)[0], 200)
            with BySession("--state-dir", states) as server:
                until(lambda: server.sessions()["total"] == 2, "workers have read what there is")
                self.assertEqual(server.ask("GET", f"/sessions/{sessions[0]}", token=ALICE)[0], 404)
                self.assertEqual(server.json("POST", f"/sessions/{sessions[1]}/resume", token=ALICE)[0], 200)
                for session in sessions[1:]:
                    self.assertEqual(server.output(session, "cat file"), session + "\n")
                until(lambda: len(server.workers()) == 2, "there is one for each")
                self.assertNotIn(server.create()[-4:], [session[-4:] for session in sessions[1:]])
            # Killed: everything that was answered is there.
            server = BySession("--state-dir", states)
            try:
                last = server.create(BOB)
                server.output(last, "echo his > file", BOB)
                server.process.kill()
                server.process.wait()
            finally:
                server.stop()
            with BySession("--state-dir", states) as server:
                self.assertEqual(server.output(last, "cat file", BOB), "his\n")


class Ends(unittest.TestCase):
    def test_what_runs_has_its_time_and_sigterm_ends_all(self):
        server = BySession("--drain", "60")
        session, _ = server.create(), server.create(BOB)
        pids = [server.spawner(), *server.workers()]
        ended, (status, result) = server.stop_beside_a_command(session)
        self.assertEqual(ended, 0)
        self.assertEqual((status, result["stdout"]), (200, "done\n"))
        self.assertEqual([pid for pid in pids if is_there(pid)], [])

    def test_a_killed_server_leaves_none(self):
        server = BySession()
        server.create(), server.create()
        pids = [server.spawner(), *server.workers()]
        self.assertEqual(len(pids), 3)
        server.process.kill()
        server.process.wait()
        until(lambda: not any(is_there(pid) for pid in pids), "all have ended")


class Steps(unittest.TestCase):
    def test_each_session_is_in_a_worker(self):
        with Server("sbs", "run", "--isolate", "session") as server:
            sessions = []
            for _ in range(2):
                status, session = server.json("POST", "/sessions")
                self.assertEqual(status, 200)
                sessions += session.values()
            self.assertNotEqual(sessions[0][-4:], sessions[1][-4:])
            for identity in sessions:
                body = {"sandbox_id": identity, "type": "bash", "payload": {"cmd": f"echo {identity}"}}
                self.assertEqual(server.json("POST", f"/sessions/{identity}/step", body)[1]["output"], identity + "\n")
            self.assertEqual(server.ask("DELETE", f"/sessions/{sessions[0]}")[0], 204)
            self.assertEqual(server.ask("DELETE", f"/sessions/{sessions[0]}")[0], 404)
            self.assertEqual(server.ask("GET", "/nothing")[0], 404)


if __name__ == "__main__":
    unittest.main(verbosity=2)
