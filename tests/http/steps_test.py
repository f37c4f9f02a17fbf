# SPDX-License-Identifier: Apache-2.0
"""The step server against real HTTP clients."""
import json
import re
import socket
import subprocess
import threading
import time
import unittest
import uuid

from server import PATIENCE_S, PROGRAM, Server, until


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("sbs", "run", env={"SBS_STEP_TIMEOUT_SEC": "600"})

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def create(self, connection=None) -> str:
        status, body = self.server.json("POST", "/sessions", connection=connection)
        self.assertEqual(status, 200)
        self.assertEqual(list(body), ["session_id"])
        return body["session_id"]

    def step(self, session: str, source: str, kind: str = "bash", connection=None):
        status, body = self.server.json(
            "POST", f"/sessions/{session}/step",
            {"sandbox_id": session, "type": kind,
             "payload": {"cmd" if kind == "bash" else "code": source}}, connection=connection)
        self.assertEqual(status, 200, body)
        self.assertEqual(list(body), ["output", "error", "exit_code"])
        return body["output"], body["error"], body["exit_code"]

    def delete(self, session: str) -> int:
        return self.server.ask("DELETE", f"/sessions/{session}")[0]

    def test_the_life_of_a_session(self):
        session = self.create()
        self.assertEqual(uuid.UUID(session).version, 4)
        self.assertEqual(self.step(session, "echo hello > a.txt; x=1; cd /tmp"), ("", "", 0))
        self.assertEqual(self.step(session, "cat a.txt; echo $x; pwd"),
                         ("hello\n\n/workspace\n", "", 0))
        self.assertEqual(self.step(session, "print(open('a.txt').read(), end='')", "python"),
                         ("hello\n", "", 0))
        self.assertEqual(self.delete(session), 204)
        self.assertEqual(self.delete(session), 404)
        self.assertEqual(self.server.json("POST", f"/sessions/{session}/step",
                                          {"sandbox_id": session, "type": "bash",
                                           "payload": {"cmd": "true"}}),
                         (404, {"detail": "session not found"}))

    def test_exit_codes(self):
        session = self.create()
        self.assertEqual(self.step(session, "exit 7")[2], 7)
        self.assertEqual(self.step(session, "kill -9 $$")[2], -9)
        self.assertEqual(self.step(session, "kill -TERM $$")[2], -15)
        self.assertEqual(self.step(session, "import sys; sys.exit(3)", "python")[2], 3)
        self.assertEqual(self.step(session, "import os; os.kill(os.getpid(), 9)", "python")[2], -9)
        out, error, code = self.step(session, "print(1)\n1/0", "python")
        self.assertEqual((out, code), ("1\n", 1))
        self.assertTrue(error.endswith("ZeroDivisionError: division by zero\n"), error)
        out, error, code = self.step(session, "nonesuch")
        self.assertEqual((out, code), ("", 127))
        self.assertIn("nonesuch: command not found", error)

    def test_a_step_that_takes_too_long(self):
        self.step(self.create(), "true")  # from here on bash is compiled
        with Server("sbs", "run", env={"SBS_STEP_TIMEOUT_SEC": "2"}) as short:
            session = json.loads(short.ask("POST", "/sessions")[2])["session_id"]

            def step(source):
                return short.json("POST", f"/sessions/{session}/step",
                                  {"sandbox_id": session, "type": "bash", "payload": {"cmd": source}})[1]

            self.assertEqual(step("echo before; sleep 60 & sleep 60"),
                             {"output": "before\n", "error": "execution timed out after 2.0 seconds",
                              "exit_code": 124})
            self.assertEqual(step("for p in /proc/[0-9]*; do read -r c < $p/comm; echo $c; done")["output"],
                             "bash\n")
            events = [line.split()[2] for line in short.log().splitlines() if session in line]
            self.assertEqual(events[:4],
                             ["session_created", "step_received", "step_started", "execution_failed"])
            self.assertEqual(events[-1], "step_finished")

    def test_a_grandchild_does_not_hold_the_answer(self):
        session = self.create()
        self.assertEqual(self.step(session, "sleep 60 & echo done"), ("done\n", "", 0))

    def test_delete_while_a_step_runs(self):
        session = self.create()
        answers = []
        thread = threading.Thread(
            target=lambda: answers.append(self.step(session, "echo begun; touch here; sleep 500")))
        thread.start()
        until(lambda: "here" in self.step(session, "ls")[0], "the step runs")
        self.assertEqual(self.delete(session), 204)
        thread.join(PATIENCE_S)
        self.assertEqual(answers, [("begun\n", "", -9)])

    def test_output_that_is_no_text(self):
        session = self.create()
        self.assertEqual(self.step(session, r"printf 'a\377b\303\251\000c'"),
                         ("a\ufffdb\u00e9\0c", "", 0))

    def test_what_is_cut_off_of_the_output_is_told(self):
        session = self.create()
        for command, told in [("yes | head -c 17M", {"error": "", "output_truncated": True}),
                              ("yes | head -c 16M", {"error": ""})]:
            status, answer = self.server.json("POST", f"/sessions/{session}/step",
                                              {"sandbox_id": session, "type": "bash", "payload": {"cmd": command}})
            self.assertEqual((status, len(answer.pop("output")), answer), (200, 16 << 20, {"exit_code": 0, **told}))

    def test_sessions_share_nothing(self):
        one, two = self.create(), self.create()
        self.step(one, "echo secret > f; echo secret > /tmp/f")
        self.assertEqual(self.step(two, "cat f /tmp/f 2>/dev/null")[0], "")

    def test_addresses(self):
        for method, path, status, allow, body in [
                ("GET", "/", 404, None, b'{"detail":"Not Found"}'),
                ("GET", "/sessions", 405, "POST", b'{"detail":"Method Not Allowed"}'),
                ("GET", "/sessions/x", 405, "DELETE", b'{"detail":"Method Not Allowed"}'),
                ("GET", "/sessions/x/step", 405, "POST", b'{"detail":"Method Not Allowed"}'),
                ("POST", "/docs", 405, "GET, HEAD", b'{"detail":"Method Not Allowed"}'),
                ("DELETE", "/sessions/x", 404, None, b'{"detail":"session not found"}')]:
            got = self.server.ask(method, path)
            self.assertEqual((got[0], got[1]["Allow"], got[2]), (status, allow, body), path)

    def test_pages(self):
        for path, kind, text in [("/docs", "text/html", b"swagger-ui-bundle.js"),
                                 ("/redoc", "text/html", b"redoc.standalone.js"),
                                 ("/skill.md", "text/markdown", b"exit_code"),
                                 ("/llms.txt", "text/plain", b"exit_code"),
                                 ("/metrics", "text/plain", b"# TYPE cloche_sessions gauge")]:
            status, headers, content = self.server.ask("GET", path)
            self.assertEqual(status, 200, path)
            self.assertTrue(headers["Content-Type"].startswith(kind), path)
            self.assertIn(text, content, path)
        for path in re.findall(r'"(/docs/[^"]+)"', self.server.ask("GET", "/docs")[2].decode()):
            self.assertEqual(self.server.ask("GET", path)[0], 200, path)
        document = json.loads(self.server.ask("GET", "/openapi.json")[2])
        self.assertTrue(document["openapi"].startswith("3.1"))
        self.assertEqual(sorted(document["paths"]),
                         ["/sessions", "/sessions/{session_id}", "/sessions/{session_id}/step"])
        for path, text in [("/v1/docs", b"/v1/openapi.json"), ("/v1/redoc", b"/v1/openapi.json"),
                           ("/v1/openapi.json", b'"openapi":"3.1')]:
            status, _, content = self.server.ask("GET", path)
            self.assertEqual(status, 200, path)
            self.assertIn(text, content, path)
        with Server("serve") as sessions:
            self.assertIn(b"/v1/openapi.json", sessions.ask("GET", "/docs")[2])
            self.assertEqual(sessions.ask("HEAD", "/docs/swagger-ui.css")[0], 200)
        skill = subprocess.run([PROGRAM, "sbs", "skill"], capture_output=True, check=True).stdout
        self.assertEqual(skill, self.server.ask("GET", "/skill.md")[2])

    def test_curl(self):
        out = subprocess.run(["curl", "-sS", "-X", "POST", self.server.url + "/sessions"],
                             capture_output=True, check=True, timeout=PATIENCE_S).stdout
        self.assertRegex(out.decode(), r'^\{"session_id":"[0-9a-f-]{36}"\}$')

    def test_requests_in_a_row_on_one_connection(self):
        connection = self.server.connection()
        for _ in range(20):
            session = self.create(connection)
            self.assertEqual(self.step(session, "echo x", connection=connection)[0], "x\n")
            self.server.ask("DELETE", f"/sessions/{session}", connection=connection)
        connection.close()

    def raw(self, data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE_S) as sock:
            sock.settimeout(PATIENCE_S)
            sock.sendall(data)
            got = b""
            try:
                while piece := sock.recv(65536):
                    got += piece
            except ConnectionResetError:
                pass
            return got

    def test_what_is_no_http(self):
        self.assertTrue(self.raw(b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 "))
        self.assertTrue(self.raw(b"GET / HTTP/1.1\r\nX: " + b"a" * 100000 + b"\r\n\r\n")
                        .startswith(b"HTTP/1.1 431 "))
        self.assertTrue(self.raw(b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
                        .startswith(b"HTTP/1.1 413 "))
        self.assertTrue(self.raw(b"GET /openapi.json HTTP/1.0\r\n\r\n")
                        .startswith(b"HTTP/1.0 200 "))

    def test_clients_that_go_away_leave_nothing(self):
        self.step(self.create(), "true")  # what is made once is there
        descriptors = self.server.descriptors()
        for _ in range(50):
            sock = socket.create_connection(("127.0.0.1", self.server.port))
            sock.sendall(b"POST /sessions HTTP/1.1\r\nContent-Le")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()  # a reset
        until(lambda: self.server.descriptors() <= descriptors, "the connections are gone")

    def test_many_sessions_at_once(self):
        failures = []

        def life(number):
            try:
                connection = self.server.connection()
                session = self.create(connection)
                if self.step(session, f"echo {number}", connection=connection)[0] != f"{number}\n":
                    failures.append(number)
                self.server.ask("DELETE", f"/sessions/{session}", connection=connection)
                connection.close()
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)

        threads = [threading.Thread(target=life, args=(i,)) for i in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual(failures, [])

    def test_log_lines(self):
        session = self.create()
        self.step(session, "true")
        self.delete(session)
        lines = [line for line in self.server.log().splitlines() if session in line]
        self.assertEqual([line.split()[2] for line in lines],
                         ["session_created", "step_received", "step_started", "step_finished",
                          "session_closed"])


class Usage(unittest.TestCase):
    def test_misuse_is_2_and_usage_on_stderr(self):
        for words in [["sbs"], ["sbs", "bogus"], ["sbs", "run", "--bogus"],
                      ["sbs", "run", "--port", "x"], ["serve", "--bogus"],
                      ["serve", "--host", "0.0.0.0"]]:
            done = subprocess.run([PROGRAM, *words], capture_output=True, timeout=PATIENCE_S,
                                  text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertTrue(done.stderr.startswith("usage: ") or "--help" in done.stderr, words)

    def test_a_step_that_runs_ends_with_the_server(self):
        server = Server("sbs", "run", "--log-format", "json")
        session = json.loads(server.ask("POST", "/sessions")[2])["session_id"]
        answers = []
        thread = threading.Thread(target=lambda: answers.append(server.json(
            "POST", f"/sessions/{session}/step",
            {"sandbox_id": session, "type": "bash", "payload": {"cmd": "echo begun; sleep 25"}})))
        thread.start()
        until(lambda: "step_started" in server.log(), "the step runs")
        self.assertEqual(server.stop(), 0)
        thread.join(PATIENCE_S)
        self.assertEqual(answers, [(200, {"output": "begun\n", "error": "", "exit_code": -9})])
        lines = [json.loads(line) for line in server.log().splitlines()]
        self.assertTrue(all("event" in line for line in lines))
        finished = next(line for line in lines if line["event"] == "step_finished")
        self.assertEqual(finished["exit_code"], -9)
        self.assertIsInstance(finished["duration_ms"], float)


if __name__ == "__main__":
    unittest.main()
