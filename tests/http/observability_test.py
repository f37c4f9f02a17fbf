# SPDX-License-Identifier: Apache-2.0
"""What a server tells of itself: traces, the audit log, and the figures that the dashboard shows."""
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from server import PATIENCE_S, PROGRAM, Server, until

TOKEN = "test-token-of-ann"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
TRACEPARENT = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
DASHBOARD = Path(__file__).resolve().parents[2] / "deploy/helm/cloche/dashboards/cloche.json"


class Collector:
    """Takes OTLP/HTTP, or answers with the statuses that it is told to give first."""

    def __init__(self, port=0, statuses=()):
        self.batches, self.heads, self.statuses = [], [], list(statuses)
        self.answer = b'{"partialSuccess":{}}'
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = outer.statuses.pop(0) if outer.statuses else 200
                outer.heads.append((self.path, self.headers["Content-Type"], status))
                if status == 200:
                    outer.batches.append(body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(outer.answer)))
                self.end_headers()
                self.wfile.write(outer.answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self):
        return [span for batch in list(self.batches) for group in batch["resourceSpans"]
                for scope in group["scopeSpans"] for span in scope["spans"]]

    def named(self, name):
        return [span for span in self.spans() if span["name"] == name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def attributes(span) -> dict:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def figure(server, name: str) -> float:
    page = server.ask("GET", "/metrics")[2].decode()
    return sum(float(value) for value in re.findall(rf"^{re.escape(name)} (\S+)$", page, re.M))


class Traces(unittest.TestCase):
    def run_one(self, server, **more):
        session = server.json("POST", "/sessions", {}, token=TOKEN)[1]["sessionId"]
        answer = server.json("POST", f"/v1/sessions/{session}/commands", {"command": "echo secret-text; exit 3"}, token=TOKEN, **more)
        assert answer[1]["exitCode"] == 3, answer
        return session

    def test_a_request_and_its_command_are_spans_of_the_clients_trace(self):
        with Collector() as collector:
            with Server("serve", "--token", TOKEN, "--otlp-endpoint", f"http://127.0.0.1:{collector.port}/otlp") as server:
                session = self.run_one(server, headers=TRACEPARENT)
                server.ask("GET", "/health")
                until(lambda: len(collector.spans()) >= 3, "spans are exported")
                request, = collector.named("POST /sessions/{id}/commands")
                self.assertEqual((request["traceId"], request["parentSpanId"], request["kind"]), (TRACE, PARENT, 2))
                self.assertEqual(attributes(request), {
                    "http.request.method": "POST", "http.route": "/sessions/{id}/commands", "cloche.session.id": session,
                    "url.path": f"/v1/sessions/{session}/commands", "http.response.status_code": "200"})
                command, = collector.named("command")
                self.assertEqual((command["traceId"], command["parentSpanId"]), (TRACE, request["spanId"]))
                self.assertEqual((attributes(command)["process.exit.code"], attributes(command)["cloche.session.id"]), ("3", session))
                self.assertLessEqual(int(request["startTimeUnixNano"]), int(command["startTimeUnixNano"]))
                self.assertLessEqual(int(command["endTimeUnixNano"]), int(request["endTimeUnixNano"]))
                create, = collector.named("POST /sessions")
                self.assertNotEqual(create["traceId"], TRACE)
                self.assertNotIn("parentSpanId", create)
                self.assertEqual({head[:2] for head in collector.heads}, {("/otlp/v1/traces", "application/json")})
                until(lambda: figure(server, 'cloche_spans_total{result="exported"}') == 3, "the export is counted")
                log = server.log()
            self.assertNotIn("secret-text", json.dumps(collector.batches))
            self.assertRegex(log, rf"command_finished session_id={session} .*trace_id={TRACE} span_id={request['spanId']}\n")
            self.assertRegex(log, rf"session_created .*trace_id={create['traceId']} ")

    def test_what_the_client_does_not_record_is_not_exported(self):
        with Collector() as collector, \
                Server("serve", "--token", TOKEN, "--otlp-endpoint", f"http://127.0.0.1:{collector.port}") as server:
            self.run_one(server, headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
            until(lambda: collector.named("POST /sessions"), "the other one is")
            self.assertEqual({span["name"] for span in collector.spans()}, {"POST /sessions"})
            self.assertIn(f"trace_id={TRACE}", server.log())

    def test_the_address_that_is_told_is_one(self):
        with socket.socket(socket.AF_INET6) as sock:
            try:
                sock.bind(("::1", 0))
            except OSError:
                self.skipTest("this machine has no IPv6")
        with Server("serve", "--host", "::1") as server:
            self.assertIn(f"url=http://[::1]:{server.port} ", server.log())
        with Server("serve", "--host", "[::1]", "--ssh-port", "0") as server:
            port = int(re.search(r"ssh_open url=ssh://\[::1\]:(\d+)\n", server.log())[1])
            with socket.create_connection(("::1", port), PATIENCE_S) as client:
                client.sendall(b"SSH-2.0-test\r\n")
                self.assertTrue(client.recv(8).startswith(b"SSH-2.0"))

    def test_without_a_collector_lines_of_the_log_have_the_clients_trace(self):
        with Server("serve", "--token", TOKEN, "--log-format", "json") as server:
            self.run_one(server, headers=TRACEPARENT)
            lines = [json.loads(line) for line in server.log().splitlines()]
            traced = [line for line in lines if "trace_id" in line]
            self.assertEqual([(line["event"], line["trace_id"], line["span_id"]) for line in traced],
                             [("command_finished", TRACE, PARENT)])
            for wrong in ["", "x", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE}-{PARENT}-01-x"]:
                self.assertEqual(server.ask("GET", "/sessions", token=TOKEN, headers={"traceparent": wrong})[0], 200)

    def test_a_collector_that_is_away_for_a_moment_loses_nothing(self):
        with Collector(statuses=[503, 429]) as collector, \
                Server("serve", "--token", TOKEN, "--otlp-endpoint", f"http://127.0.0.1:{collector.port}") as server:
            self.run_one(server)
            until(lambda: len(collector.spans()) >= 3, "spans are exported at last")
            self.assertEqual([status for _, _, status in collector.heads[:2]], [503, 429])
            until(lambda: figure(server, 'cloche_spans_total{result="exported"}') == 3, "all are counted")
            self.assertEqual(figure(server, 'cloche_spans_total{result="unreachable"}'), 0)

    def test_what_a_collector_does_not_take_is_counted_and_costs_nothing_else(self):
        with Collector(statuses=[400] * 100) as collector, \
                Server("serve", "--token", TOKEN, "--otlp-endpoint", f"http://127.0.0.1:{collector.port}") as server:
            self.run_one(server)
            until(lambda: figure(server, 'cloche_spans_total{result="refused"}') == 3, "they are counted")
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            with Server("serve", "--token", TOKEN, "--otlp-endpoint", f"http://127.0.0.1:{nobody.getsockname()[1]}") as server:
                self.run_one(server)
                until(lambda: figure(server, 'cloche_spans_total{result="unreachable"}') == 3, "they are counted")
                self.assertEqual(server.ask("GET", "/ready")[0], 200)

    def test_a_server_that_ends_sends_what_it_has(self):
        with Collector() as collector:
            server = Server("serve", "--token", TOKEN, "--otlp-endpoint", f"http://127.0.0.1:{collector.port}")
            with server:
                self.run_one(server)
            self.assertEqual(len(collector.spans()), 3)

    def test_a_request_that_goes_to_another_cell_is_one_trace(self):
        with tempfile.TemporaryDirectory() as folder, Collector() as collector:
            Path(folder, "secret").write_text("a-secret-of-the-cells\n")
            peers = Path(folder, "peers")
            peers.touch()
            words = ["serve", "--token", TOKEN, "--peers", f"file:{peers}", "--peer-token-file", folder + "/secret",
                     "--otlp-endpoint", f"http://127.0.0.1:{collector.port}"]
            with Server(*words, "--cell-key", "1") as one, Server(*words, "--cell-key", "2") as two:
                session = two.json("POST", "/sessions", {}, token=TOKEN)[1]["sessionId"]
                peers.write_text(f"127.0.0.1:{one.port}\n127.0.0.1:{two.port}\n")
                path = f"/sessions/{session}"
                until(lambda: one.ask("GET", path, token=TOKEN)[0] == 200, "the other cell is known")
                self.assertEqual(one.ask("POST", path + "/pause", token=TOKEN, headers=TRACEPARENT)[0], 200)
                until(lambda: len(collector.named("POST /sessions/{id}/pause")) == 2, "both cells have exported")
            spans = {span.get("parentSpanId"): span for span in collector.named("POST /sessions/{id}/pause")}
            self.assertEqual({span["traceId"] for span in spans.values()}, {TRACE})
            self.assertIn(spans[PARENT]["spanId"], spans)


class Audit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "audit.log"

    def lines(self, file=None):
        return [json.loads(line) for line in (file or self.file).read_text().splitlines()]

    def test_who_did_what_and_what_came_of_it(self):
        import paramiko
        with Server("serve", "--token", TOKEN, "--audit-log", str(self.file), ssh=True) as server:
            session = server.json("POST", "/sessions", {"metadata": {"m": "in-the-body"}}, token=TOKEN, headers=TRACEPARENT)[1]["sessionId"]
            path = f"/sessions/{session}"
            server.ask("POST", path + "/commands", {"command": "echo in-the-command; exit 4"}, token=TOKEN)
            server.ask("POST", path + "/files?path=in-the-query", b"in-the-file", token=TOKEN)
            self.assertEqual(server.ask("GET", path, token="a-wrong-token")[0], 401)
            self.assertEqual(server.ask("GET", "/sessions/none", token=TOKEN)[0], 404)
            server.ask("GET", "/health")
            server.ask("GET", "/metrics")
            for password, good in [(TOKEN, True), ("wrong", False)]:
                transport = paramiko.Transport(("127.0.0.1", server.ssh_port))
                try:
                    transport.connect(username=f"sandbox+{session}", password=password)
                    self.assertTrue(good)
                except paramiko.AuthenticationException:
                    self.assertFalse(good)
                finally:
                    transport.close()
            until(lambda: sum(line["what"] == "ssh.login" for line in self.lines()) == 2, "both logins are there")
            server.ask("DELETE", path, token=TOKEN)
            owner = self.lines()[0]["who"]
        lines = self.lines()
        told = [(line["what"], line.get("target"), line["outcome"], line.get("code")) for line in lines if line["what"] != "ssh.login"]
        self.assertEqual(told, [
            ("session.created", None, "done", None),
            ("request", "POST /sessions", "done", 200),
            ("command.started", None, "done", None),
            ("command.ended", None, "failed", 4),
            ("request", f"POST {path}/commands", "done", 200),
            ("request", f"POST {path}/files", "done", 201),
            ("request", f"GET {path}", "refused", 401),
            ("request", "GET /sessions/none", "refused", 404),
            ("session.deleted", None, "done", None),
            ("request", f"DELETE {path}", "done", 200)])
        self.assertTrue(owner)
        for line in lines:
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            if line.get("code") == 401:
                self.assertNotIn("who", line)
            else:
                self.assertEqual(line["who"], owner)
            if line["what"] in ("request", "ssh.login"):
                self.assertTrue(line["from"].startswith("127.0.0.1:"))
        self.assertEqual([line["trace_id"] for line in lines[:2]], [TRACE] * 2)
        self.assertEqual([line["outcome"] for line in lines if line["what"] == "ssh.login"], ["done", "refused"])
        self.assertEqual({line["session"] for line in lines if "session" in line}, {session, "none"})
        text = self.file.read_text()
        for secret in [TOKEN, "a-wrong-token", "in-the-body", "in-the-command", "in-the-query", "in-the-file"]:
            self.assertNotIn(secret, text)

    def test_what_a_sandbox_reaches_is_there(self):
        with Server("serve", "--audit-log", str(self.file), "--session-net", "another.example:80") as server:
            session = server.json("POST", "/sessions", {})[1]["sessionId"]
            server.ask("POST", f"/sessions/{session}/commands", {"command": "curl -s http://example.com:81/"})
        refused = [line for line in self.lines() if line["what"] == "network.refused"]
        self.assertTrue(refused)
        self.assertEqual((refused[0]["outcome"], refused[0]["session"]), ("refused", session))
        self.assertIn("example.com", refused[0]["target"])
        self.assertEqual([line["what"] for line in self.lines()][-1], "session.ended")

    def test_a_renamed_file_is_let_go_at_a_hangup(self):
        with Server("serve", "--audit-log", str(self.file)) as server:
            server.ask("GET", "/sessions")
            old = self.folder / "audit.log.1"
            self.file.rename(old)
            server.process.send_signal(signal.SIGHUP)
            until(self.file.exists, "a new file is there")
            server.ask("GET", "/sessions?limit=1")
            self.assertEqual(len(self.lines()), 1)
            self.assertEqual(len(self.lines(old)), 1)

    def test_what_cannot_be_written_is_counted_and_the_server_is_not_ready(self):
        path = str(self.folder / "socket")
        with Server("serve", "--audit-log", f"syslog:{path}") as server:
            self.assertEqual(server.ask("GET", "/ready")[0], 200)
            self.assertEqual(server.ask("GET", "/sessions")[0], 200)
            status, body = server.json("GET", "/ready")
            self.assertEqual(status, 503)
            self.assertIn("audit log", body["reason"])
            self.assertEqual(figure(server, 'cloche_audit_entries_total{result="failed"}'), 1)
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as syslog:
                syslog.bind(path)
                syslog.settimeout(30)
                self.assertEqual(server.ask("GET", "/ready")[0], 200)
                self.assertIn(b'"missing":1', syslog.recv(4096))
                server.ask("GET", "/sessions")
                self.assertIn(b'"target":"GET /sessions"', syslog.recv(4096))

    def test_a_file_that_cannot_be_opened_ends_the_start(self):
        os.mkfifo(self.folder / "fifo")
        for name in ["fifo", "none/audit"]:
            with self.assertRaisesRegex(RuntimeError, "cannot append to the audit log"):
                Server("serve", "--audit-log", str(self.folder / name))


class Starts(unittest.TestCase):
    """A server that does not start says why, and by its status whether that may pass."""

    def status(self, *words):
        done = subprocess.run([PROGRAM, "serve", *words], capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertRegex(done.stderr, r"\Acloche serve: [^\n]+\n\Z")
        return done.returncode

    def test_what_the_machine_does_not_give_yet(self):
        with tempfile.TemporaryDirectory() as folder, Server("serve", "--state-dir", folder + "/states") as server:
            for words in (["--port", str(server.port)], ["--port", "0", "--host", "203.0.113.1", "--token", "t"],
                          ["--port", "0", "--state-dir", folder + "/states"], ["--port", "0", "--tokens-file", folder + "/none"],
                          ["--port", "0", "--ssh-port", str(server.port), "--ssh-host-key", folder + "/key"],
                          ["--port", "0", "--tls-cert", folder + "/none", "--tls-key", folder + "/none"]):
                with self.subTest(words):
                    self.assertEqual(self.status(*words), 1)

    def test_what_to_do_is_said(self):
        with tempfile.TemporaryDirectory() as folder, Server("serve") as server:
            taken, free = str(server.port), ["--port", "0"]
            for words, remedy in ((["--port", taken], f"127.0.0.1:{taken}: .*: say another --port"),
                                  ([*free, "--ssh-port", taken, "--ssh-host-key", folder + "/key"], "say another --ssh-port"),
                                  ([*free, "--ssh-port", "0", "--ssh-host-key", folder], "name another file by --ssh-host-key")):
                with self.subTest(words):
                    done = subprocess.run([PROGRAM, "serve", *words], capture_output=True, text=True, timeout=PATIENCE_S)
                    self.assertRegex(done.stderr, remedy)

    def test_what_makes_no_sense(self):
        for words in (["--port", "x"], ["--no-such"], ["--host", "203.0.113.1"], ["--tls-cert", "alone"]):
            with self.subTest(words):
                self.assertEqual(self.status(*words), 2)


class Dashboard(unittest.TestCase):
    def test_every_figure_that_it_shows_is_there(self):
        dashboard = json.loads(DASHBOARD.read_text())
        panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
        shown = {name for panel in panels for target in panel["targets"] for name in re.findall(r"\bcloche_\w+", target["expr"])}
        self.assertGreater(len(shown), 15)
        with tempfile.TemporaryDirectory() as folder, Collector() as collector, \
                Server("serve", "--token", TOKEN, "--state-dir", folder + "/state", "--max-sessions", "1", "--audit-log", folder + "/audit",
                       "--otlp-endpoint", f"http://127.0.0.1:{collector.port}") as server:
            session = server.json("POST", "/sessions", {}, token=TOKEN)[1]["sessionId"]
            self.assertEqual(server.ask("POST", "/sessions", {}, token=TOKEN)[0], 503)
            server.ask("POST", f"/sessions/{session}/commands", {"command": "true"}, token=TOKEN)
            page = server.ask("GET", "/metrics")[2].decode()
        there = set(re.findall(r"^(cloche_\w+)", page, re.M))
        self.assertEqual(shown - there, set())
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))


if __name__ == "__main__":
    unittest.main()
