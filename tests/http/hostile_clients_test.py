# SPDX-License-Identifier: Apache-2.0
"""What web pages, smugglers and hoarders try on the server, and that others are served meanwhile."""
import base64
import contextlib
import http.client
import json
import re
import resource
import select
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import websocket
from server import PATIENCE_S, Server, until

TOKEN = "test-token"
FORM = "application/x-www-form-urlencoded"


def exchange(server: Server, data: bytes) -> bytes:
    """What the server answers to these bytes until it closes, or to the last of them."""
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        got = b""
        try:
            while piece := sock.recv(65536):
                got += piece
        except ConnectionResetError:
            pass
        return got


@contextlib.contextmanager
def many_descriptors(test: unittest.TestCase, count: int):
    """So many for this process, and for servers that it starts."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < count:
        test.skipTest(f"{count} descriptors are wanted, and {before[1]} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(count, before[0]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class WebPages(unittest.TestCase):
    """A server without tokens and a browser on the same machine."""

    @classmethod
    def setUpClass(cls):
        cls.servers = [Server("sbs", "run"), Server("serve")]

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers:
            assert server.stop() == 0

    def ask(self, server, headers, method="POST", path="/sessions", body=None):
        return server.ask(method, path, body, headers=headers)[0]

    def test_only_its_own_names_lead_to_it(self):
        for server in self.servers:
            for host in ["localhost", f"localhost:{server.port}", "127.0.0.1:1", "[::1]:8000"]:
                self.assertEqual(self.ask(server, {"Host": host}), 200, host)
            for host in ["evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "10.0.0.1"]:
                for method, path in [("POST", "/sessions"), ("GET", "/v1/sessions"), ("DELETE", "/sessions/x"),
                                     ("POST", "/v1/sessions/x/commands"), ("GET", "/metrics")]:
                    self.assertEqual(self.ask(server, {"Host": host}, method, path), 403, (host, path))
            self.assertEqual(self.ask(server, {"Host": "10.1.2.3"}, "GET", "/v1/health"), 200)
        status, body = self.servers[1].json("POST", "/sessions", headers={"Host": "evil.example"})
        self.assertEqual((status, body["error"]), (403, "FORBIDDEN"))
        status, body = self.servers[0].json("POST", "/sessions", headers={"Host": "evil.example"})
        self.assertEqual((status, list(body)), (403, ["detail"]))

    def test_a_name_that_is_no_text_is_refused_by_all_doors(self):
        server = self.servers[1]
        for host in [b"\xff", b"a" * 99 + "é".encode()]:
            for method, path in [(b"GET", b"/console/login"), (b"GET", b"/v1/sessions"), (b"POST", b"/run_code"),
                                 (b"GET", b"/sandboxes"), (b"GET", b"/rpc"), (b"POST", b"/mcp")]:
                got = exchange(server, method + b" " + path + b" HTTP/1.1\r\nHost: " + host +
                               b"\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n")
                self.assertTrue(got.startswith(b"HTTP/1.1 4"), (host, path, got))
        self.assertEqual(server.ask("GET", "/health")[0], 200)

    def test_pages_of_others_are_refused(self):
        for server in self.servers:
            own = f"http://127.0.0.1:{server.port}"
            for marks in [{"Origin": "https://evil.example"}, {"Origin": "null"},
                          {"Origin": f"http://localhost:{server.port}"},
                          {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
                          {"Origin": own, "Sec-Fetch-Site": "cross-site", "Host": "evil.example"}]:
                self.assertEqual(self.ask(server, marks), 403, marks)
            for marks in [{"Origin": own}, {"Origin": own, "Sec-Fetch-Site": "same-origin"},
                          {"Sec-Fetch-Site": "none"}]:
                self.assertEqual(self.ask(server, marks), 200, marks)
            self.assertEqual(self.ask(server, {"Sec-Fetch-Site": "cross-site"}, "GET", "/docs"), 200)
            self.assertEqual(self.ask(server, {"Sec-Fetch-Site": "cross-site"}, "GET", "/v1/sessions"), 403)

    def test_a_form_makes_no_session_and_curl_does(self):
        for server in self.servers:
            own = f"http://127.0.0.1:{server.port}"
            for kind in [FORM, "text/plain", "multipart/form-data; boundary=x"]:
                self.assertEqual(self.ask(server, {"Content-Type": kind, "Origin": "null"}, body=b"{}"), 403)
                self.assertEqual(self.ask(server, {"Content-Type": kind, "Origin": own}, body=b"{}"), 415)
                self.assertEqual(self.ask(server, {"Content-Type": kind, "Referer": own}, body=b"{}"), 415)
            # As README has it: curl says the type of a form, and nothing of a page.
            for more in [[], ["-d", '{"ttl":600}'], ["-d", ""]]:
                done = subprocess.run(["curl", "-sS", "-f", "-X", "POST", server.url + "/v1/sessions", *more],
                                      capture_output=True, check=True, timeout=PATIENCE_S).stdout
                self.assertIn("sessionId", json.loads(done))
            # The page of the API itself: no body, no type.
            status = exchange(server, f"POST /sessions HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {own}\r\n"
                              "Content-Length: 0\r\n\r\n".encode())
            self.assertTrue(status.startswith(b"HTTP/1.1 200 "), status)

    def test_a_tunnel_needs_no_name_of_the_server(self):
        server = self.servers[1]
        session = server.json("POST", "/sessions")[1]["sessionId"]
        for head in [f"CONNECT {session}:22 HTTP/1.1\r\nHost: {session}:22\r\n\r\n",
                     f"CONNECT {session}:22 HTTP/1.0\r\n\r\n"]:
            self.assertIn(b" 200 Connection Established", exchange(server, head.encode()))
        self.assertIn(b" 403 ", exchange(server, f"CONNECT {session}:22 HTTP/1.1\r\nHost: {session}:22\r\n"
                                         "Origin: https://evil.example\r\n\r\n".encode()))

    def test_names_and_origins_that_were_allowed(self):
        page = "https://app.example"
        with Server("serve", "--allow-host", "box.example", "--allow-origin", page) as server:
            self.assertEqual(self.ask(server, {"Host": "box.example:99"}), 200)
            self.assertEqual(self.ask(server, {"Host": "other.example"}), 403)
            status, headers, _ = server.ask("POST", "/sessions", headers={"Origin": page, "Sec-Fetch-Site": "cross-site"})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"], headers["Vary"]), (200, page, "Origin"))
            asked = {"Origin": page, "Access-Control-Request-Method": "POST"}
            status, headers, _ = server.ask("OPTIONS", "/sessions", headers=asked)
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (204, page))
            self.assertIn("Content-Type", headers["Access-Control-Allow-Headers"])
            status, headers, _ = server.ask("POST", "/sessions", headers={"Origin": "https://other.example"})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (403, None))
            asked["Origin"] = "https://other.example"
            self.assertEqual(server.ask("OPTIONS", "/sessions", headers=asked)[0], 403)

    def test_a_token_is_enough_for_any_name(self):
        with Server("serve", "--token", TOKEN) as server:
            for marks in [{"Host": "box.example"}, {"Origin": "https://any.example", "Content-Type": FORM}]:
                self.assertEqual(server.ask("POST", "/sessions", "{}", token=TOKEN, headers=marks)[0], 200)
                self.assertEqual(server.ask("POST", "/sessions", "{}", headers=marks)[0], 401)
        for words in [["--allow-origin", "app.example"], ["--allow-origin", "https://app.example/"], ["--allow-host", "a/b"]]:
            with self.assertRaisesRegex(RuntimeError, words[0]):
                Server("serve", *words)


class Smugglers(unittest.TestCase):
    """Heads that another program on the way may read in another way."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("sbs", "run")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def test_where_a_request_ends_is_said_once(self):
        inner = b"DELETE /sessions/x HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for fields in [b"Host: localhost\r\nTransfer-Encoding: gzip", b"Host: localhost\r\nTransfer-Encoding: xchunked",
                       b"Host: localhost\r\nTransfer-Encoding: gzip, chunked",
                       b"Host: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                       b"Host: localhost\r\nTransfer-Encoding:\r\n chunked",
                       b"Host: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3",
                       b"Host: localhost\r\nContent-Length: 0\r\nContent-Length: 0", b"Host: localhost\r\nContent-Length: 0, 0",
                       b"Host: localhost\r\nContent-Length: 0\r\nContent-Length: 50", b"Host: localhost\r\nContent-Length: +0",
                       b"Host: localhost\r\nContent-Length:\r\n 0", b"Host: localhost\r\nContent-Length: 0\r\n\t",
                       b"Host: localhost\r\nX: a\r\n b", b"X: none", b"Host: localhost\r\nHost: localhost",
                       b"Host: localhost\r\nHost: evil.example", b"Host: localhost\r\nContent-Length : 0"]:
            got = exchange(self.server, b"POST /sessions HTTP/1.1\r\n" + fields + b"\r\n\r\n" + inner)
            self.assertTrue(got.startswith(b"HTTP/1.1 400 "), (fields, got))
            self.assertEqual(got.count(b"\r\nDate: "), 1, (fields, got))
        got = exchange(self.server, b"POST /sessions HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n"
                       b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner)
        self.assertTrue(got.startswith(b"HTTP/1.0 400 "), got)
        self.assertEqual(got.count(b"\r\nDate: "), 1, got)

    def test_an_absolute_target_says_whose_it_is(self):
        for name, host, status in [(b"localhost", b"evil.example", b"200"), (b"evil.example", b"localhost", b"403")]:
            got = exchange(self.server, b"POST http://" + name + b"/sessions?a HTTP/1.1\r\nHost: " + host +
                           b"\r\nContent-Length: 0\r\n\r\n")
            self.assertTrue(got.startswith(b"HTTP/1.1 " + status), got)

    def test_a_target_is_a_path(self):
        for target, status in [(b"ftp://localhost/sessions", b"400"), (b"sessions", b"400"), (b"*", b"400"), (b"/sessions", b"200")]:
            got = exchange(self.server, b"POST " + target + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            self.assertTrue(got.startswith(b"HTTP/1.1 " + status), (target, got))

    def test_an_old_client_is_not_told_to_go_on(self):
        got = exchange(self.server, b"POST /sessions HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}")
        self.assertTrue(got.startswith(b"HTTP/1.0 200 "), got)

    def test_heads_in_pieces_are_read_the_same(self):
        for head, status in [(b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n 0\r\n\r\n", b"400"),
                             (b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", b"200")]:
            with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE_S) as sock:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for byte in head:
                    sock.sendall(bytes([byte]))
                self.assertEqual(sock.recv(65536)[9:12], status)


class Bodies(unittest.TestCase):
    def test_many_names_take_time_in_proportion(self):
        with Server("serve") as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]

            def seconds(count: int, path: str, body: dict) -> float:
                body = json.dumps({**body, **{f"n{i}": 0 for i in range(count)}})
                best = 1e9
                for _ in range(3):
                    start = time.monotonic()
                    self.assertLess(server.ask("POST", path, body)[0], 500)
                    best = min(best, time.monotonic() - start)
                return best

            for path, body in [("/sessions", {"ttl": 60}), (f"/sessions/{session}/commands", {"command": ":"})]:
                seconds(10, path, body)
                # 16 times as many: 256 times the time where each is looked for among all others.
                few = max(seconds(10_000, path, body), 0.01)
                self.assertLess(seconds(160_000, path, body), 80 * few, path)

    def test_a_step_is_refused_that_has_more_values_than_any(self):
        with Server("sbs", "run") as server:
            for body in ["[" + "0," * 200_000 + "0]", "[" * 100_000, "{" + ",".join(f'"n{i}":0' for i in range(200_000)) + "}"]:
                status, answer = server.json("POST", "/sessions/x/step", body)
                self.assertEqual((status, answer), (400, {"detail": "There was an error parsing the body"}))

    def test_what_is_cut_off_of_the_output_is_told(self):
        most = 16 << 20
        with Server("serve") as server:
            path = f"/sessions/{server.json('POST', '/sessions')[1]['sessionId']}/commands"
            for command, out, err, told in [(f"head -c {most} /dev/zero | tr '\\0' x", most, 0, {}),
                                            (f"yes | head -c {most + 1}", most, 0, {"stdoutTruncated": True}),
                                            (f"yes | head -c {most + 1} >&2; echo out", 4, most, {"stderrTruncated": True})]:
                status, done = server.json("POST", path, {"command": command})
                self.assertEqual((status, len(done.pop("stdout")), len(done.pop("stderr")), done),
                                 (200, out, err, {"status": "completed", "exitCode": 0, **told}))


class Hoarders(unittest.TestCase):
    """Connections that are held, and answers that are not read."""

    def open_all(self, port: int, count: int, first: bytes = b"") -> list:
        socks = []
        for _ in range(count):
            socks.append(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
            if first:
                socks[-1].sendall(first)
        return socks

    def test_silent_connections_shut_nobody_out(self):
        with Server("sbs", "run", "--max-connections", "64") as server:
            for first in [b"", b"P", b"POST /sessions HTTP/1.1\r\nHost: localhost\r\n"]:
                held = self.open_all(server.port, 200, first)
                connection = server.connection()
                for _ in range(3):
                    self.assertEqual(server.ask("POST", "/sessions", connection=connection)[0], 200)
                # A connection that has asked stays while silent ones come.
                held += self.open_all(server.port, 200, first)
                self.assertEqual(server.ask("POST", "/sessions", connection=connection)[0], 200)
                connection.close()
                until(lambda: server.descriptors() < 100, "those that were silent are gone")
                for sock in held:
                    sock.close()

    def test_connections_that_have_asked_once_shut_nobody_out(self):
        with Server("sbs", "run", "--max-connections", "64") as server:
            held = []
            for _ in range(150):
                connection = server.connection()
                self.assertEqual(server.ask("GET", "/skill.md", connection=connection)[0], 200)
                held.append(connection)
            for connection in held:
                connection.close()

    def test_a_step_in_progress_keeps_its_connection(self):
        with Server("sbs", "run", "--max-connections", "16") as server:
            session = server.json("POST", "/sessions")[1]["session_id"]
            answers = []
            step = {"sandbox_id": session, "type": "bash", "payload": {"cmd": "echo begun > f; read -t 60 < <(sleep 3); echo done"}}
            thread = threading.Thread(target=lambda: answers.append(server.json("POST", f"/sessions/{session}/step", step)))
            thread.start()
            until(lambda: "step_started" in server.log(), "the step runs")
            held = self.open_all(server.port, 100)
            thread.join(PATIENCE_S)
            self.assertEqual(answers, [(200, {"output": "done\n", "error": "", "exit_code": 0})])
            for sock in held:
                sock.close()

    def test_the_server_takes_all_descriptors_that_it_may_have(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
        try:
            server = Server("sbs", "run")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with server:
            limits = Path(f"/proc/{server.process.pid}/limits").read_text()
            words = re.search(r"Max open files +(\S+) +(\S+)", limits)
            self.assertEqual(words[1], words[2])

    def test_with_few_descriptors_it_works_or_says_that_it_cannot(self):
        with self.assertRaisesRegex(RuntimeError, r"a server needs 256 descriptors, and this process may have 40"):
            Server("serve", descriptors_limit=40)
        with Server("serve", descriptors_limit=256) as server:
            held = self.open_all(server.port, 300)
            sessions = [server.json("POST", "/sessions", {})[1]["sessionId"] for _ in range(3)]
            for session in sessions * 3:
                status, done = server.json("POST", f"/sessions/{session}/commands", {"command": "seq 10 | sort | wc -l"})
                self.assertEqual((status, done["stdout"]), (200, "10\n"), done)
            for sock in held:
                sock.close()

    def test_connections_of_guests_leave_descriptors_to_clients(self):
        connect = ("python3 -c 'import socket,time\nheld=[]\n"
                   "try:\n  while True: held.append(socket.create_connection((\"127.0.0.1\", %d)))\n"
                   "except OSError: pass\n"
                   "open(\"ready\", \"w\")\ntime.sleep(600)' & while [ ! -e ready ]; do sleep 0.1; done")
        with socket.create_server(("127.0.0.1", 0), backlog=1000) as sink:
            rule = f"localhost:{sink.getsockname()[1]}"
            with Server("serve", "--session-net", rule, descriptors_limit=512) as server:
                sessions = [server.json("POST", "/sessions", {})[1]["sessionId"] for _ in range(6)]
                for session in sessions:
                    status, _ = server.json("POST", f"/sessions/{session}/commands",
                                            {"command": connect % sink.getsockname()[1]})
                    self.assertEqual(status, 200)
                self.assertGreater(server.descriptors(), 150)
                for session in sessions:
                    status, done = server.json("POST", f"/sessions/{session}/commands", {"command": "echo a | cat"})
                    self.assertEqual((status, done["stdout"]), (200, "a\n"))

    def test_connections_and_files_of_one_tokens_guests_leave_descriptors_to_others(self):
        """What guests may have of the process's descriptors, by one token's as far as they get it."""
        hold = ("python3 -c 'import socket,sys,time\nheld=[]\n"
                "def connection(): return socket.create_connection((\"127.0.0.1\", %d))\n"
                "def file(): return open(\"/data/f\")\n"
                "try:\n  while len(held) < 200: held.append({take}())\n"
                "except OSError: pass\n"
                "open(\"ready\", \"w\").write(str(len(held)))\ntime.sleep(600)' & while [ ! -s ready ]; do sleep 0.1; done; cat ready")
        with socket.create_server(("127.0.0.1", 0), backlog=1000) as sink, tempfile.TemporaryDirectory() as folder:
            Path(folder, "f").touch()
            hold %= sink.getsockname()[1]
            for take in ["connection", "file"]:
                with Server("serve", "--token", TOKEN, "--token", "other", "--session-net", f"localhost:{sink.getsockname()[1]}",
                            "--session-mount", f"{folder}:/data:ro", descriptors_limit=1024) as server:
                    def holds(token: str) -> int:
                        session = server.json("POST", "/sessions", {}, token=token)[1]["sessionId"]
                        status, done = server.json("POST", f"/sessions/{session}/commands",
                                                   {"command": hold.replace("{take}", take)}, token=token)
                        self.assertEqual(status, 200)
                        return int(done["stdout"])

                    self.assertGreater(sum(holds(TOKEN) for _ in range(4)), 100)
                    until(lambda: holds(TOKEN) == 0, "those that were in use for a moment are had, too")
                    self.assertGreater(holds("other"), 50)

    def test_without_descriptors_it_neither_stops_nor_spins(self):
        with Server("sbs", "run") as server:
            def is_idle() -> bool:
                before = server.cpu_s()
                time.sleep(0.3)
                return server.cpu_s() - before < 0.05

            until(is_idle, "what it makes ready at its start is ready")
            limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
            few = server.descriptors() + 8
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (few, limits[1]))
            held = self.open_all(server.port, 60)
            begun, used = time.monotonic(), server.cpu_s()
            for _ in range(20):  # each has to wait until a silent one has gone
                # The machine code that the server still opens may leave none at all: then it may only be sent away.
                with contextlib.suppress(ConnectionError, http.client.HTTPException):
                    self.assertEqual(server.ask("GET", "/skill.md")[0], 200)
            self.assertLess(server.cpu_s() - used, max(1, time.monotonic() - begun) / 2)
            for sock in held:
                sock.close()
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limits)
            self.assertEqual(server.ask("GET", "/skill.md")[0], 200)

    def test_half_open_ssh_shuts_nobody_out(self):
        with Server("serve", "--token", TOKEN, ssh=True) as server:
            session = server.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
            threads = server.threads()
            held = self.open_all(server.ssh_port, 150) + self.open_all(server.ssh_port, 150, b"SSH-2.0-silent\r\n")
            transport = self.log_in(server, "sandbox+" + session, TOKEN)
            channel = transport.open_session()
            channel.exec_command("echo through")
            self.assertEqual(channel.makefile().read(), b"through\n")
            until(lambda: server.threads() < threads + 90, "those that were too many are gone")
            for sock in held:
                sock.close()
            transport.close()

    def log_in(self, server, user, password):
        try:
            import paramiko
        except ImportError as error:
            self.skipTest(str(error))
        transport = paramiko.Transport(socket.create_connection(("127.0.0.1", server.ssh_port), PATIENCE_S))
        transport.start_client(timeout=PATIENCE_S)
        try:
            transport.auth_password(user, password)
        except paramiko.AuthenticationException:
            transport.close()
            return None
        return transport

    def test_ssh_without_descriptors_ends_no_server(self):
        with Server("serve", "--token", TOKEN, ssh=True) as server:
            until(lambda: server.json("GET", "/ready")[0] == 200, "it is ready")
            limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
            for more in range(1, 7):
                there = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
                resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (there + more, limits[1]))
                with socket.create_connection(("127.0.0.1", server.ssh_port), PATIENCE_S) as sock:
                    sock.sendall(b"SSH-2.0-x\r\n")
                    time.sleep(0.2)
                self.assertIsNone(server.process.poll())
                resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limits)
            session = server.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
            self.log_in(server, "sandbox+" + session, TOKEN).close()

    def test_folders_that_are_open_are_bounded(self):
        with Server("serve", "--token", TOKEN, ssh=True) as server:
            session = server.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
            make = {"command": "mkdir d; cd d; for ((i = 0; i < 5000; i++)); do : >f$i; done", "timeout": 300}
            self.assertEqual(server.json("POST", f"/sessions/{session}/commands", make, token=TOKEN)[1]["exitCode"], 0)
            transport = self.log_in(server, "sandbox+" + session, TOKEN)
            import paramiko
            sftp = paramiko.SFTPClient.from_transport(transport)
            handles = []
            with self.assertRaisesRegex(OSError, "Too many open folders"):
                for _ in range(100):
                    handles.append(sftp._request(paramiko.sftp.CMD_OPENDIR, b"d")[1].get_binary())
            self.assertGreater(len(handles), 20)
            sftp._request(paramiko.sftp.CMD_CLOSE, handles[0])
            self.assertEqual(len(sftp.listdir("d")), 5000)
            transport.close()

    def test_answers_of_a_web_socket_that_nobody_reads(self):
        with Server("serve", "--token", TOKEN, "--unsent-limit", "64M", "--session-memory", "1G") as server, \
                websocket.Rpc(server.port, TOKEN) as rpc:
            rpc.call("create", fsLimitBytes=300 << 20)
            rpc.call("run", command="head -c 60M /dev/zero > f; head -c 8M /dev/zero > g")
            before = server.resident_mb()
            rpc.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            rpc.send("files.read", path="g")
            time.sleep(0.5)  # that one is stuck
            for _ in range(12):
                rpc.send("files.read", path="f")

            for _ in range(20):
                time.sleep(0.2)
                self.assertLess(server.resident_mb() - before, 350)
            self.assertEqual(server.json("GET", "/sessions", token=TOKEN)[0], 200)

    def test_requests_of_one_token_that_do_not_end_shut_no_other_out(self):
        with Server("serve", "--token", TOKEN, "--token", "other", "--max-connections", "64") as server:
            held = []
            with self.assertRaises(websocket.Refused) as refused:
                for _ in range(64):
                    held.append(websocket.Rpc(server.port, TOKEN))
            self.assertEqual((refused.exception.status, len(held)), (503, 36))
            self.assertEqual(server.ask("GET", "/sessions", token=TOKEN)[0], 503)
            self.assertEqual(server.json("POST", "/sessions", {}, token="other")[0], 200)
            held.pop().socket.close()
            until(lambda: server.ask("GET", "/sessions", token=TOKEN)[0] == 200, "there is a place again")
            for each in held:
                each.socket.close()

    def test_calls_of_one_token_that_wait_leave_threads_to_others(self):
        """More calls of tools that wait than the server has threads for all."""
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}}

        def request(token: str, tool: str, **arguments) -> bytes:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                               "params": {"name": tool, "arguments": arguments, "_meta": meta}})
            return (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
                    f"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
                    f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()

        def answer(server: Server, data: bytes) -> bytes:  # who shuts down has left
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as sock:
                sock.sendall(data)
                return b"".join(iter(lambda: sock.recv(1 << 16), b""))

        calls = 2200
        with many_descriptors(self, 4 * calls), Server("serve", "--token", TOKEN, "--token", "other") as server:
            self.assertIn(b"p1", answer(server, request(TOKEN, "bash", command="sleep 1000", background=True)))
            self.assertIn(b"ready", answer(server, request("other", "bash", command="echo ready")))
            waiting = request(TOKEN, "process", action="output", id="p1", wait_s=60)
            with contextlib.ExitStack() as held:
                sockets = [held.enter_context(socket.create_connection(("127.0.0.1", server.port), PATIENCE_S))
                           for _ in range(calls)]
                for sock in sockets:
                    sock.sendall(waiting)
                until(lambda: server.threads() > 1500, "most of them wait")
                self.assertIn(b"in between", answer(server, request("other", "bash", command="echo in between")))
                # None has been answered: the other one did not wait for them.
                held_still = select.poll()
                for sock in sockets[:1000]:
                    sock.setblocking(False)
                    held_still.register(sock, select.POLLIN)
                ends = [fd for fd, _ in held_still.poll(0)]
                self.assertFalse(any(b"isError" in sock.recv(1 << 20) for sock in sockets[:1000] if sock.fileno() in ends))

    def test_terminals_of_one_token_leave_places_to_others(self):
        with Server("serve", "--token", TOKEN, "--token", "other") as server, contextlib.ExitStack() as held:
            def in_a_session(token: str) -> websocket.Rpc:
                session = server.json("POST", "/sessions", {}, token=token)[1]["sessionId"]
                rpc = held.enter_context(websocket.Rpc(server.port, token))
                rpc.call("create", sessionId=session)
                return rpc

            opened = 0
            with self.assertRaises(websocket.WireError) as refused:
                while opened < 2048:
                    mine = in_a_session(TOKEN)
                    for _ in range(32):
                        mine.call("terminal.open", command="exec sleep 1000")
                        opened += 1
            self.assertEqual(opened, 1536)
            self.assertIn("EAGAIN", str(refused.exception))
            self.assertTrue(in_a_session("other").call("terminal.open")["terminal"])

    def test_logins_of_one_token_shut_no_other_out_of_ssh(self):
        with Server("serve", "--token", TOKEN, "--token", "other", "--max-connections", "8", ssh=True) as server:
            mine, others = (server.json("POST", "/sessions", {}, token=token)[1]["sessionId"] for token in (TOKEN, "other"))
            tried = [self.log_in(server, f"sandbox+{mine}", TOKEN) for _ in range(12)]
            held = [each for each in tried if each]
            until(lambda: sum(each.is_active() for each in held) == 6, "those beyond the share have gone")
            transport = self.log_in(server, f"sandbox+{others}", "other")
            channel = transport.open_session()
            channel.exec_command("echo in")
            self.assertEqual(channel.makefile().read(), b"in\n")
            for each in [transport, *held]:
                each.close()

    def test_a_login_is_for_the_very_name_and_password(self):
        key = "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(32))).decode()
        with Server("serve", "--token", TOKEN, "--ssh-password", "fixed", ssh=True) as server:
            create = lambda **body: server.json("POST", "/sessions", body, token=TOKEN)[1]["sessionId"]
            for session in [create(), create(sshPublicKey=key)]:
                for user, password, good in [(f"sandbox+{session}", TOKEN, True), (f"sandbox+{session}", "fixed", True),
                                             (f"sandbox+{session}\0", TOKEN, False), (f"sandbox+{session}", TOKEN + "\0", False),
                                             (f"sandbox+{session}\0x", "fixed", False), (f"sandbox+{session}", "", False),
                                             (f"sandbox+{session}", "other", False)]:
                    transport = self.log_in(server, user, password)
                    self.assertEqual(transport is not None, good, (user, password))
                    if transport:
                        transport.close()
        with Server("serve", ssh=True) as server:
            create = lambda **body: server.json("POST", "/sessions", body)[1]["sessionId"]
            open_to_all, locked = create(), create(sshPublicKey=key)
            self.log_in(server, f"sandbox+{open_to_all}", "any").close()
            self.assertIsNone(self.log_in(server, f"sandbox+{locked}", "any"))

    def test_answers_that_nobody_reads(self):
        with Server("serve", "--token", TOKEN, "--token", "other", "--unsent-limit", "64M", "--session-memory", "2G") as server:
            session = server.json("POST", "/sessions", token=TOKEN)[1]["sessionId"]
            make = {"command": "head -c 100M /dev/zero > f; echo made", "timeout": 300}
            self.assertEqual(server.json("POST", f"/sessions/{session}/commands", make, token=TOKEN)[1]["stdout"], "made\n")
            before = server.resident_mb()

            def ask_and_not_read(count: int, request: str, body: str = "") -> list:
                head = (f"{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n{body}")
                socks = []
                for _ in range(count):
                    sock = socket.socket()
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    sock.connect(("127.0.0.1", server.port))
                    sock.sendall(head.encode())
                    self.assertEqual(sock.recv(12), b"HTTP/1.1 200")
                    socks.append(sock)
                return socks

            # A hundred MiB each of a file, twelve MiB each of bytes of which JSON makes six.
            held = ask_and_not_read(20, f"GET /sessions/{session}/files?filePath=f")
            self.assertLess(server.resident_mb() - before, 150)
            held += ask_and_not_read(12, f"POST /sessions/{session}/commands", '{"command":"head -c 12M /dev/zero"}')
            self.assertLess(server.resident_mb() - before, 250)
            # Who reads is answered: the same owner and another one.
            status, _, content = server.ask("GET", f"/sessions/{session}/files?filePath=f", token=TOKEN)
            self.assertEqual((status, len(content), content.strip(b"\0")), (200, 100 << 20, b""))
            status, result = server.json("POST", f"/sessions/{session}/commands", {"command": "head -c 3M /dev/zero; printf '\"\\xff' >&2"}, token=TOKEN)
            self.assertEqual((status, result["stdout"], result["stderr"]), (200, "\0" * (3 << 20), '"\ufffd'))
            self.assertEqual(server.json("GET", "/sessions", token="other")[0], 200)
            for sock in held:
                sock.close()

    def test_bodies_that_come_are_bounded(self):
        with Server("serve", "--token", TOKEN, "--token", "other", "--received-limit", "32M", "--session-fs-limit", "64M") as server:
            session, foreign = (server.json("POST", "/sessions", token=token)[1]["sessionId"] for token in (TOKEN, "other"))

            def begin_upload(session: str, token: str, mib: int) -> socket.socket:
                """Of `mib` MiB and one more byte, which is not sent."""
                sock = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
                sock.sendall(f"POST /sessions/{session}/files?path=f&overwrite=true HTTP/1.1\r\nHost: localhost\r\n"
                             f"Authorization: Bearer {token}\r\nContent-Length: {(mib << 20) + 1}\r\n\r\n".encode())
                with contextlib.suppress(ConnectionError):
                    sock.sendall(bytes(mib << 20))
                return sock

            def upload(session: str, token: str, mib: int) -> int:
                return server.ask("POST", f"/sessions/{session}/files?path=f&overwrite=true", bytes(mib << 20), token=token)[0]

            # A token's part is 16 MiB: two that do not go on take 14, and there is no room for the one that comes last.
            held = [begin_upload(session, TOKEN, 7) for _ in range(3)]
            [refused], _, _ = select.select(held, [], [], PATIENCE_S)
            held.remove(refused)
            head = refused.recv(4096)
            self.assertEqual(head[:12], b"HTTP/1.1 503")
            self.assertIn(b"Retry-After: 1", head)
            refused.close()
            self.assertEqual(upload(foreign, "other", 12), 201)
            self.assertEqual(server.json("POST", f"/sessions/{session}/commands", {"command": "echo x"}, token=TOKEN)[0], 200)
            # Larger than there could ever be room for.
            self.assertEqual(upload(session, TOKEN, 17), 413)
            # One goes on to its end, one goes away: both have given back what they had.
            held[0].sendall(b"x")
            self.assertEqual(held[0].recv(12), b"HTTP/1.1 201")
            for sock in held:
                sock.close()
            until(lambda: upload(session, TOKEN, 15) in (200, 201), "room for a body again")

    def test_a_download_ends_with_its_session(self):
        with Server("serve") as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]
            server.json("POST", f"/sessions/{session}/commands", {"command": "head -c 50M /dev/zero > f"})
            connection = server.connection()
            connection.request("GET", f"/sessions/{session}/files?filePath=f")
            answer = connection.getresponse()
            self.assertEqual(int(answer.headers["Content-Length"]), 50 << 20)
            answer.read(1000)
            self.assertEqual(server.ask("DELETE", f"/sessions/{session}")[0], 200)
            got = 1000
            with contextlib.suppress(ConnectionResetError):
                while piece := answer.read(1 << 20):
                    got += len(piece)
            self.assertLess(got, 50 << 20)
            connection.close()

    def test_a_file_that_is_swapped_for_a_large_one_is_not_read_as_a_whole(self):
        """A sparse file takes no room of the sandbox, and would take that of the server."""
        with Server("serve") as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]
            ask = lambda command: server.json("POST", f"/sessions/{session}/commands", {"command": command, "timeout": 60})
            ask("echo small > a; truncate -s 900M b")
            before, sizes, large = server.resident_mb(), set(), 0
            swapping = threading.Thread(target=ask, args=("until [ -e stop ]; do mv a c; mv b a; mv a b; mv c a; done",))
            swapping.start()
            # The moments in which it is one and then the other are hit now and then.
            for _ in range(3000):
                connection = server.connection()
                connection.request("GET", f"/sessions/{session}/files?filePath=a")
                answer = connection.getresponse()
                sizes.add(answer.headers["Content-Length"] if answer.status == 200 else None)
                connection.close()
                large = max(large, server.resident_mb())
                if large > before + 500:
                    break
            server.ask("POST", f"/sessions/{session}/files?path=stop", b"", headers={"Content-Type": "application/octet-stream"})
            swapping.join()
            self.assertLessEqual({"6", str(900 << 20)}, sizes)
            self.assertLess(large, before + 500)


if __name__ == "__main__":
    unittest.main()
