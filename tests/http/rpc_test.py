# SPDX-License-Identifier: Apache-2.0
"""`/rpc`: JSON-RPC with terminals over a WebSocket."""
import base64
import json
import re
import sys
import unittest
from pathlib import Path

from server import SANITIZED, Server, until
from websocket import Closed, Refused, Rpc, WireError

TOKEN, OTHER = "test-token-one", "test-token-two"
SOURCE = Path(__file__).resolve().parents[2]


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


class Door(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", "--token", TOKEN, "--token", OTHER, "--allow-origin", "https://app.example")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def open(self, token=TOKEN, **more) -> Rpc:
        rpc = Rpc(self.server.port, token, **more)
        self.addCleanup(rpc.socket.close)
        return rpc

    def refused(self, status: int, **more) -> None:
        with self.assertRaises(Refused) as caught:
            self.open(**more)
        self.assertEqual(caught.exception.status, status)

    # --- who may come in ------------------------------------------------------------------------

    def test_tokens(self):
        self.refused(401, token=None)
        self.refused(401, token="wrong")
        self.refused(401, token=None, protocols=("cloche.rpc.v1", "cloche.token." + encoded("wrong")))
        self.refused(401, token=None, protocols=("cloche.rpc.v1", "cloche.token.%%%"))
        rpc = self.open(token=None, protocols=("cloche.rpc.v1", "cloche.token." + encoded(TOKEN)))
        self.assertRegex(rpc.head, r"(?i)sec-websocket-protocol: cloche\.rpc\.v1")
        self.assertTrue(rpc.call("ping")["ok"])
        self.assertTrue(self.open().call("ping")["ok"])

    def test_origins(self):
        port = self.server.port
        self.refused(403, headers={"Origin": "https://evil.example"})
        self.refused(403, headers={"Origin": "null"})
        self.refused(403, headers={"Sec-Fetch-Site": "cross-site"})
        self.assertTrue(self.open(headers={"Origin": f"http://127.0.0.1:{port}"}).call("ping")["ok"])
        self.assertTrue(self.open(headers={"Origin": "https://app.example"}).call("ping")["ok"])

    def test_what_is_no_web_socket(self):
        status, headers, _ = self.server.ask("GET", "/rpc", token=TOKEN)
        self.assertEqual((status, headers["Upgrade"]), (426, "websocket"))
        self.refused(426, headers={"Sec-WebSocket-Version": "8"})
        self.refused(400, protocols=())
        self.refused(400, protocols=("other",))

    # --- messages -------------------------------------------------------------------------------

    def test_what_is_no_request(self):
        rpc = self.open()
        for text, code in ((b"nonsense", -32700), (b"[]", -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":"nonesuch"}', -32601)):
            rpc.send_frame(1, text)
            self.assertEqual(rpc.read()["error"]["code"], code)
        rpc.send_frame(1, b"\xff")
        with self.assertRaises(Closed) as caught:
            rpc.read()
        self.assertEqual(caught.exception.code, 1007)

    def test_a_message_in_pieces_and_a_ping_between(self):
        rpc = self.open()
        rpc.send_frame(1, b'{"jsonrpc":"2.0","id":7,', fin=False)
        rpc.send_frame(9, b"hello")
        rpc.send_frame(0, b'"method":"ping"}')
        self.assertEqual(rpc.read()["id"], 7)

    def test_all_methods_of_the_other_door_are_there(self):
        rpc = self.open()
        made = rpc.call("create", ephemeral=True)
        self.assertEqual(sorted(made), ["ok", "sessionId"])
        self.assertEqual(rpc.call("run", command="echo hello | tr a-z A-Z")["stdout"], "HELLO\n")
        rpc.call("run", command="cd /tmp; export A=1")
        self.assertEqual(rpc.call("run", command="echo $PWD $A")["stdout"], "/tmp 1\n")
        rpc.call("files.write", path="/tmp/x", data=base64.b64encode(b"\0\xff" * 1000).decode())
        self.assertEqual(base64.b64decode(rpc.call("files.read", path="/tmp/x")["data"]), b"\0\xff" * 1000)
        self.assertEqual(rpc.call("python.execute", code="x = 6\nx * 7")["result"], "42")
        snapshot = rpc.call("snapshot.create")["id"]
        rpc.call("run", command="rm /tmp/x; A=2")
        rpc.call("python.execute", code="x = 1")
        rpc.call("snapshot.restore", id=snapshot)
        self.assertEqual(rpc.call("run", command="ls /tmp/x; echo $A")["stdout"], "/tmp/x\n1\n")
        self.assertEqual(rpc.call("python.execute", code="x")["result"], "6")
        state = rpc.call("persistence.export")["data"]
        twin = rpc.call("sandbox.fork")
        rpc.call("run", command="rm /tmp/x")
        self.assertEqual(rpc.call("run", command="ls /tmp/x", sandboxId=twin["sandboxId"])["exitCode"], 0)
        rpc.call("persistence.import", data=state)
        self.assertEqual(rpc.call("run", command="ls /tmp/x")["exitCode"], 0)
        self.assertEqual(len(rpc.call("sandbox.list")["sandboxes"]), 2)

    def test_output_is_streamed_and_callbacks_are_asked(self):
        rpc = self.open()
        rpc.call("create", ephemeral=True)
        number = rpc.send("run", command="echo one; echo two >&2", stream=True)
        rpc.answer_to(number)
        told = [(m["params"]["stream"], m["params"]["data"]) for m in rpc.notices if m["method"] == "output"]
        self.assertEqual(sorted(told), [("stderr", "two\n"), ("stdout", "one\n")])
        number = rpc.send("python.execute", code="await double(n=21)", callbacks=[{"name": "double"}])
        question = rpc.read()
        self.assertEqual((question["method"], question["params"]["arguments"]), ("callback.invoke", {"n": 21}))
        rpc.send_frame(1, json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": 42}).encode())
        self.assertEqual(rpc.answer_to(number)["result"], "42")

    def test_large_answers(self):
        rpc = self.open()
        rpc.call("create", ephemeral=True)
        rpc.call("run", command="head -c 50000000 /dev/zero > big")
        data = rpc.call("files.read", path="big")["data"]
        self.assertEqual(base64.b64decode(data), bytes(50_000_000))

    # --- sessions -------------------------------------------------------------------------------

    def test_a_session_outlives_its_connection(self):
        first = self.open()
        session = first.call("create", ttl=120, metadata={"job": 7})["sessionId"]
        first.call("run", command="cd /tmp; A=kept")
        first.call("python.execute", code="x = 5")
        first.socket.close()
        second = self.open()
        self.assertEqual(second.call("create", sessionId=session), {"ok": True, "sessionId": session})
        self.assertEqual(second.call("run", command="echo $PWD $A")["stdout"], "/tmp kept\n")
        self.assertEqual(second.call("python.execute", code="x")["result"], "5")
        _, told = self.server.json("GET", f"/sessions/{session}", token=TOKEN)
        self.assertEqual(told["metadata"], {"job": 7})
        with self.assertRaises(WireError) as caught:
            self.open(token=OTHER).call("create", sessionId=session)
        self.assertTrue(caught.exception.message.startswith("ENOENT"))
        second.call("session.delete", sessionId=session)
        self.assertEqual(self.server.json("GET", f"/sessions/{session}", token=TOKEN)[0], 404)
        with self.assertRaises(WireError):
            second.call("run", command="true")

    def test_an_ephemeral_session_ends_with_its_connection(self):
        rpc = self.open()
        session = rpc.call("create", ephemeral=True)["sessionId"]
        twin = rpc.call("sandbox.fork")["sessionId"]
        self.assertEqual(self.server.json("GET", f"/sessions/{session}", token=TOKEN)[0], 200)
        rpc.socket.close()
        for one in (session, twin):
            until(lambda one=one: self.server.json("GET", f"/sessions/{one}", token=TOKEN)[0] == 404, "gone")

    def test_a_session_that_has_ended_is_told_by_a_member_and_let_go_of(self):
        rpc, deleter = self.open(), self.open()
        with self.assertRaises(WireError) as caught:
            rpc.call("sandbox.create", sessionId="none")
        self.assertEqual((caught.exception.code, caught.exception.data), (1, {"code": "SESSION_NOT_FOUND"}))
        with self.assertRaises(WireError) as caught:
            rpc.call("run", sandboxId="none", command="true")
        self.assertEqual((caught.exception.code, caught.exception.data), (1, {"code": "SANDBOX_NOT_FOUND"}))
        made = rpc.call("sandbox.create")
        with self.assertRaises(WireError) as caught:
            rpc.call("files.read", sandboxId=made["sandboxId"], path="/there is no session 'x")
        self.assertIsNone(caught.exception.data)
        for _ in range(257):  # one more than a connection holds
            deleter.call("session.delete", sessionId=made["sessionId"])
            with self.assertRaises(WireError) as caught:
                rpc.call("run", sandboxId=made["sandboxId"], command="true")
            self.assertEqual(caught.exception.data, {"code": "SESSION_NOT_FOUND"})
            self.assertTrue(caught.exception.message.startswith("ENOENT: "))
            self.assertEqual(rpc.call("sandbox.destroy", sandboxId=made["sandboxId"]), {"ok": True})
            made = rpc.call("sandbox.create")
        rpc.call("sandbox.destroy", sandboxId=made["sandboxId"])

    def test_sessions_are_listed_paused_forked_and_extended(self):
        rpc = self.open(token=OTHER)
        session = rpc.call("create")["sessionId"]
        rpc.call("run", command="A=1; echo text > file")
        rpc.call("python.execute", code="x = 3")
        forks = rpc.call("session.fork", sessionId=session, count=2)["sessions"]
        self.assertEqual([one["parent"] for one in forks], [session, session])
        twin = rpc.call("sandbox.create", sessionId=forks[0]["sessionId"])["sandboxId"]
        self.assertEqual(rpc.call("run", sandboxId=twin, command="echo $A; cat file")["stdout"], "1\ntext\n")
        self.assertEqual(rpc.call("python.execute", sandboxId=twin, code="x")["result"], "3")
        listed = rpc.call("session.list")
        self.assertEqual(listed["total"], 3)
        self.assertEqual(listed["sessions"][-1]["sessionId"], session)
        self.assertGreater(listed["sessions"][-1]["fileBytes"], 0)
        self.assertGreater(listed["sessions"][-1]["cpuMs"], 0)
        self.assertEqual(rpc.call("session.pause", sessionId=session)["status"], "paused")
        with self.assertRaises(WireError) as caught:
            rpc.call("run", command="true")
        self.assertIn("paused", caught.exception.message)
        self.assertEqual(rpc.call("session.resume", sessionId=session)["status"], "running")
        self.assertEqual(rpc.call("run", command="echo $A")["stdout"], "1\n")
        self.assertEqual(rpc.call("python.execute", code="x")["result"], "3")
        before = listed["sessions"][-1]["expiresAt"]
        self.assertGreater(rpc.call("session.extend", sessionId=session, ttl=28800)["expiresAt"], before)
        with self.assertRaises(WireError):
            rpc.call("session.extend", sessionId=session, ttl=1)
        for one in (session, *(fork["sessionId"] for fork in forks)):
            rpc.call("session.delete", sessionId=one)

    def test_a_fork_of_a_busy_session_holds_up_nobody(self):
        rpc, other = self.open(), self.open()
        session = rpc.call("create")["sessionId"]
        busy = rpc.send("run", command="echo begun; until [ -e go ]; do sleep 0.01; done; A=1", stream=True)
        rpc.notice("output", stream="stdout")
        fork = rpc.send("session.fork", sessionId=session)
        self.assertTrue(rpc.call("ping")["ok"])
        other.call("create", sessionId=session)
        other.call("files.write", path="go", data="")
        rpc.answer_to(busy)
        twin = rpc.answer_to(fork)["sessions"][0]["sessionId"]
        name = rpc.call("sandbox.create", sessionId=twin)["sandboxId"]
        self.assertEqual(rpc.call("run", sandboxId=name, command="echo $A")["stdout"], "1\n")

    def test_what_a_client_may_not_name(self):
        rpc = self.open()
        for params in ({"mounts": [{"host": "/etc", "guest": "/etc2"}]}, {"wasmDir": "/tmp"}, {"image": "/etc/passwd"},
                       {"network": ["example.com"]}):
            with self.assertRaises(WireError) as caught:
                rpc.call("create", **params)
            self.assertTrue(caught.exception.message.startswith("EACCES"), caught.exception.message)
        rpc.call("create", ephemeral=True, limits={"memoryBytes": 1 << 50})
        for method in ("persistence.export", "persistence.import"):
            with self.assertRaises(WireError) as caught:
                rpc.call(method, path="/tmp/cloche-test-state")
            self.assertTrue(caught.exception.message.startswith("EACCES"))

    def test_cancelling_stops_one_request_and_nobody_elses(self):
        first, second = self.open(), self.open()
        session = first.call("create", ephemeral=True)["sessionId"]
        second.call("create", sessionId=session)
        waiting = second.send("python.execute", code="import time\ntime.sleep(0.5)\n'done'")
        number = first.send("run", command="echo begun; sleep 1000", stream=True)
        self.assertEqual(first.notice("output")["data"], "begun\n")
        self.assertTrue(first.call("cancel", id=number)["cancelled"])
        self.assertEqual(first.answer_to(number)["exitCode"], 137)
        self.assertEqual(second.answer_to(waiting)["result"], "'done'")

    # --- commands and terminals -----------------------------------------------------------------

    def test_a_command_to_talk_with(self):
        rpc = self.open()
        rpc.call("create", ephemeral=True)
        number = rpc.call("command.start", script="while read x; do echo got $x; done; exit 3")["command"]
        rpc.call("command.write", command=number, data=base64.b64encode(b"one\n").decode())
        self.assertEqual(rpc.notice("command.output", command=number)["data"], "got one\n")
        self.assertEqual(rpc.call("run", command="echo beside")["stdout"], "beside\n")
        rpc.call("command.end", command=number)
        self.assertEqual(rpc.notice("command.exit", command=number)["exitCode"], 3)
        number = rpc.call("command.start", script="sleep 1000")["command"]
        rpc.call("command.kill", command=number)
        self.assertEqual(rpc.notice("command.exit", command=number)["status"], "killed")
        with self.assertRaises(WireError):
            rpc.call("command.kill", command=number)

    def test_one_that_cannot_be_paused_runs_on(self):
        rpc = self.open()
        session = rpc.call("create", ephemeral=True)["sessionId"]
        number = rpc.call("command.start", script="mv /dev /before && echo no folder > /dev", account="root")["command"]
        self.assertEqual(rpc.notice("command.exit", command=number)["exitCode"], 0)
        for _ in range(2):
            status, answer = self.server.json("POST", f"/sessions/{session}/pause", token=TOKEN)
            self.assertEqual((status, answer["error"]), (500, "INTERNAL_ERROR"))
            self.assertEqual(self.server.json("GET", "/health")[0], 200)
        self.assertEqual(self.server.json("GET", f"/sessions/{session}", token=TOKEN)[1]["status"], "running")
        self.assertEqual(rpc.call("run", command="echo on")["stdout"], "on\n")

    def test_terminals(self):
        rpc = self.open()
        session = rpc.call("create")["sessionId"]
        terminal = rpc.call("terminal.open", cols=100, rows=30)["terminal"]
        rpc.type(terminal, b"stty size; tty | tr a-z A-Z\r")
        text = rpc.printed(terminal, b"/DEV/PTS")
        self.assertIn(b"30 100", text)
        rpc.call("terminal.resize", terminal=terminal, cols=50, rows=10)
        rpc.type(terminal, b"stty size\r")
        rpc.printed(terminal, b"10 50")
        rpc.type(terminal, b"MARK=still; echo here\r")
        rpc.printed(terminal, b"\rhere")
        rpc.socket.close()
        # The same shell, after the connection was lost.
        again = self.open()
        again.call("create", sessionId=session)
        with self.assertRaises(WireError):
            self.open(token=OTHER).call("terminal.resize", terminal=terminal, cols=1, rows=1)
        self.assertEqual(again.call("terminal.open", attach=terminal)["terminal"], terminal)
        self.assertIn(b"10 50", again.printed(terminal, b"here"))
        again.type(terminal, b"echo $MARK-there; exit 4\r")
        again.printed(terminal, b"still-there")
        self.assertEqual(again.notice("terminal.exit", terminal=terminal)["exitCode"], 4)
        again.call("session.delete", sessionId=session)

    def test_processes(self):
        rpc = self.open()
        rpc.call("create", ephemeral=True)
        number = rpc.call("command.start", script="sleep 987")["command"]

        def sleeping():
            return [one for one in rpc.call("processes.list")["processes"] if "sleep 987" in one["command"]]
        until(sleeping, "it sleeps")
        for one in sleeping():
            rpc.call("processes.signal", pid=one["pid"], signal=15)
        self.assertEqual(rpc.notice("command.exit", command=number)["signal"], 15)

    # --- watching -------------------------------------------------------------------------------

    def test_events(self):
        watcher, rpc = self.open(), self.open()
        session = rpc.call("create", ephemeral=True)["sessionId"]
        watcher.call("events.subscribe", sessionId=session)
        self.assertEqual(watcher.notice("event", kind="created")["text"], "rpc")
        rpc.call("run", command="echo " + "x" * 500 + "; exit 2")
        begun = watcher.notice("event", kind="command.started")
        self.assertEqual(len(begun["text"]), 200)
        ended = watcher.notice("event", kind="command.ended")
        self.assertEqual((ended["run"], ended["exitCode"]), (begun["run"], 2))
        rpc.call("python.execute", code="1/0")
        self.assertEqual(watcher.notice("event", kind="python.ended")["exitCode"], 1)
        watcher.call("events.subscribe", sessionId=session, since=ended["seq"])
        self.assertEqual(watcher.notice("event")["kind"], "python.started")
        with self.assertRaises(WireError):
            self.open(token=OTHER).call("events.subscribe", sessionId=session)

    def test_stats(self):
        rpc = self.open()
        session = rpc.call("create", ephemeral=True)["sessionId"]
        rpc.call("stats.subscribe", intervalMs=250)
        told = rpc.notice("stats")
        self.assertGreater(told["server"]["memoryBytes"], 1 << 20)
        self.assertIn(session, [one["sessionId"] for one in told["sessions"]])
        rpc.notice("stats")

    def test_a_terminal_waits_for_who_takes_what_it_prints(self):
        rpc, other, window = self.open(), self.open(), 64 << 10
        session = rpc.call("create")["sessionId"]
        other.call("create", sessionId=session)
        terminal = rpc.call("terminal.open", window=window)["terminal"]
        rpc.type(terminal, b"stty -onlcr; head -c 600000 /dev/zero | tr '\\0' x; echo > /tmp/done; echo e\"\"nd\r")
        text = rpc.printed(terminal, b"x" * 1000)
        self.assertNotEqual(other.call("run", command="test -e /tmp/done")["exitCode"], 0)  # it is far from having taken all
        rpc.call("terminal.taken", terminal=terminal, bytes=len(text))
        count = text.count(b"x")
        while count < 600_000:
            text = rpc.printed(terminal, b"x")
            rpc.call("terminal.taken", terminal=terminal, bytes=len(text))
            count += text.count(b"x")
        if b"end" not in text:  # which may have come with the last of it
            rpc.printed(terminal, b"end")
        self.assertEqual(other.call("run", command="test -e /tmp/done")["exitCode"], 0)
        other.call("session.delete", sessionId=session)

    def test_a_client_that_stops_reading_loses_its_connection_and_holds_up_nobody(self):
        deaf, other = self.open(), self.open()
        session = deaf.call("create")["sessionId"]
        other.call("create", sessionId=session)
        terminal = deaf.call("terminal.open")["terminal"]
        deaf.type(terminal, b"head -c 60000000 /dev/zero | tr '\\0' x; echo > /tmp/done\r")
        until(lambda: other.call("run", command="test -e /tmp/done")["exitCode"] == 0, "the terminal goes on")
        with self.assertRaises((Closed, OSError)):
            while True:
                deaf.read_message()
        other.call("session.delete", sessionId=session)

    def test_the_page_names_what_there_is(self):
        page = (SOURCE / "docs/websocket.md").read_text()
        code = (SOURCE / "src/doors/remote/methods.cc").read_text()
        there = set(re.findall(r'Method\{"([a-z.]+)"', code))
        self.assertEqual(set(re.findall(r"^\| `([a-z]+\.[a-z]+)`", page, re.M)), there)


class Open(unittest.TestCase):
    """Without tokens: this machine only, and no page of another site."""

    def test_hosts_and_origins(self):
        with Server("serve") as server:
            with Rpc(server.port) as rpc:
                self.assertTrue(rpc.call("ping")["ok"])
            for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
                with self.assertRaises(Refused) as caught:
                    Rpc(server.port, headers=headers)
                self.assertEqual(caught.exception.status, 403)

    @unittest.skipIf(SANITIZED, "memory that is given back stays with the sanitizer")
    def test_snapshots_need_memory_of_the_server(self):
        with Server("serve", "--memory-limit", "300M") as server, Rpc(server.port) as rpc:
            rpc.call("create")
            for _ in range(10):
                rpc.call("run", command="head -c 100000000 /dev/urandom > /tmp/f")
                try:
                    rpc.call("snapshot.create")
                except WireError as error:
                    self.assertTrue(error.message.startswith("EAGAIN: "), error.message)
                    break
            else:
                self.fail("ten snapshots of 100 MB each")
            for one in rpc.call("snapshot.list")["snapshots"]:
                rpc.call("snapshot.remove", id=one["id"])
            until(lambda: server.resident_mb() < 300, "they are gone")
            rpc.call("snapshot.create")

    def test_the_end_of_the_server_closes_connections(self):
        server = Server("serve")
        rpc = Rpc(server.port)
        rpc.call("create")
        number = rpc.send("run", command="sleep 1000")
        self.assertEqual(server.stop(), 0)
        with self.assertRaises((Closed, OSError)):
            rpc.answer_to(number)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
