# SPDX-License-Identifier: Apache-2.0
"""`cloche.Sandbox(url=...)` and `cloche.aio`: the Python package against a server."""
import asyncio
import base64
import contextlib
import hashlib
import re
import socket
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Iterator
from unittest import mock

from server import Server

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python" / "src"))
from cloche import (CommandError, ConnectionLostError, ExecutionError, PythonSession, Sandbox,  # noqa: E402
                    SandboxArgumentError, SandboxFileNotFoundError, ServerError, _errors, _websocket, _wire, aio)

TOKEN = "test-token-one"


class Wire:
    """Passes bytes on to a server, until it is cut."""

    def __init__(self, port: int) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.to = port
        self.open: list = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.to))
            self.open += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def pass_on(one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def cut(self) -> None:
        for one in self.open:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.open.clear()


class SlowReader:
    """A server of WebSockets that reads steadily, and a whole message in more time than a silence may have."""

    silence_seconds = 0.5
    message_bytes = 16 << 20

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.port = self.listener.getsockname()[1]
        self.received = 0
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        with self.listener, self.listener.accept()[0] as near:
            head = b""
            while b"\r\n\r\n" not in head:
                head += near.recv(4096)
            key = re.search(rb"Sec-WebSocket-Key: (\S+)", head)[1]
            accept = base64.b64encode(hashlib.sha1(key + _websocket._GUID.encode()).digest())
            near.sendall(b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
            pause = 3 * self.silence_seconds / (self.message_bytes >> 16)
            while data := near.recv(1 << 16, socket.MSG_WAITALL):
                self.received += len(data)
                time.sleep(pause)


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", "--token", TOKEN)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def sandbox(self, **options) -> Sandbox:
        sandbox = Sandbox(url=self.server.url, token=TOKEN, **options)
        self.addCleanup(sandbox.kill)
        return sandbox

    def test_the_same_as_a_local_one(self):
        with self.sandbox(env={"A": "1"}, ttl=120, metadata={"job": 1}) as sbx:
            result = sbx.commands.run("echo $A; cd /tmp")
            self.assertEqual((result.stdout, result.exit_code), ("1\n", 0))
            self.assertEqual(sbx.commands.run("pwd").stdout, "/tmp\n")
            parts = []
            sbx.commands.run("for i in 1 2 3; do echo $i; done", on_stdout=parts.append)
            self.assertEqual("".join(parts), "1\n2\n3\n")
            with self.assertRaises(CommandError):
                sbx.commands.run("exit 3", check=True)
            sbx.files.write("/tmp/data", b"\0\xff" * 6_000_000)
            self.assertEqual(sbx.files.read("/tmp/data"), b"\0\xff" * 6_000_000)
            with self.assertRaises(SandboxFileNotFoundError):
                sbx.files.read("/nowhere")

            def double(n: int) -> int:
                return 2 * n
            self.assertEqual(sbx.python.execute("x = await double(n=21)\nx", callbacks=[double]).result, "42")
            snapshot = sbx.snapshot()
            sbx.commands.run("rm /tmp/data")
            snapshot.restore()
            self.assertTrue(sbx.files.exists("/tmp/data"))
            with sbx.fork() as twin:
                self.assertEqual(twin.python.execute("x").result, "42")
                self.assertNotEqual(twin.session_id, sbx.session_id)
            status, told = self.server.json("GET", f"/sessions/{sbx.session_id}", token=TOKEN)
            self.assertEqual((status, told["metadata"]), (200, {"job": 1}))
        self.assertEqual(self.server.json("GET", f"/sessions/{told['sessionId']}", token=TOKEN)[0], 404)

    def test_a_python_session(self):
        out, events = [], []
        with PythonSession(url=self.server.url, token=TOKEN, timeout_ms=600_000, on_stdout=out.append,
                           on_trace=events.append, callbacks={"double": lambda n: 2 * n}) as session:
            self.assertEqual(session.execute("print('x')\nawait double(n=21)").value, 42)
            self.assertEqual("".join(out), "x\n")
            self.assertIn("line", {event.event["type"] for event in events})
            with self.assertRaises(ExecutionError) as caught:
                session.execute("\n1/0")
            self.assertEqual((caught.exception.type, caught.exception.line), ("ZeroDivisionError", 2))
            session.execute("kept = 1")
            state = session.snapshot_state()
            with session.fork() as twin:
                twin.clear_state()
                twin.restore_state(state)
                self.assertEqual(twin.execute("kept").value, 1)
            with self.assertRaises(PermissionError):
                session.checkpoint("/tmp/of-the-server.image")

    def test_a_command_that_one_talks_with(self):
        sbx = self.sandbox()
        with sbx.commands.start("while read line; do echo \"got $line\"; done; exit 3") as command:
            command.write("one\n")
            self.assertEqual(next(iter(command)), ("stdout", "got one\n"))
            command.close_stdin()
            self.assertEqual(command.wait().exit_code, 3)
        wire = Wire(self.server.port)
        other = Sandbox(url=f"http://127.0.0.1:{wire.port}", token=TOKEN)
        self.addCleanup(other.kill)
        lost = other.commands.start("echo begun; sleep 1000")
        self.assertEqual(next(iter(lost)).text, "begun\n")
        wire.cut()
        with self.assertRaises(ConnectionLostError):
            lost.wait()
        self.assertEqual(other.commands.start("echo again").wait().stdout, "again\n")

    def test_commands_of_this_process(self):
        def serve(text):
            return {"name": lambda call: text, "upper": lambda call: call.stdin.read().upper()}

        wire = Wire(self.server.port)
        sbx = Sandbox(url=f"http://127.0.0.1:{wire.port}", token=TOKEN, commands=serve("first"))
        self.addCleanup(sbx.kill)
        self.assertEqual(sbx.commands.run("name | upper; head -c 3000000 /dev/zero | upper | wc -c").stdout, "FIRST\n3000000\n")
        with sbx.fork() as twin:
            self.assertEqual(twin.commands.run("name").stdout, "first\n")
        wire.cut()
        try:
            sbx.commands.run("true")  # what is on its way may be lost
        except ConnectionLostError:
            pass
        self.assertEqual(sbx.commands.run("name").stdout, "first\n")
        other = Sandbox(url=self.server.url, token=TOKEN, session_id=sbx.session_id, commands=serve("other"))
        self.assertEqual(sbx.commands.run("name").stdout, "other\n")
        other.kill()  # lets go of the session
        self.assertIn(sbx.commands.run("name").exit_code, (1, 126))
        sbx.commands.serve(serve("again"))
        self.assertEqual(sbx.commands.run("name").stdout, "again\n")

    @contextlib.contextmanager
    def proxy_without_websockets(self) -> "Iterator[str]":
        """Passes one request on, as nginx does by itself: without its fields Upgrade and Connection."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def pass_on() -> None:
                with listener.accept()[0] as near, socket.create_connection(("127.0.0.1", self.server.port)) as far:
                    lines = near.recv(65536).split(b"\r\n")
                    far.sendall(b"\r\n".join(line for line in lines if not line.startswith((b"Upgrade:", b"Connection:"))))
                    near.sendall(far.recv(65536))

            thread = threading.Thread(target=pass_on)
            thread.start()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            thread.join()

    def test_what_is_refused(self):
        for options in ({"token": "wrong"}, {"token": None}):
            with self.assertRaises(ServerError):
                Sandbox(url=self.server.url, **options)
        with self.assertRaises(ServerError):
            Sandbox(url="http://127.0.0.1:1", token=TOKEN)
        with self.proxy_without_websockets() as url, self.assertRaisesRegex(ServerError, "a proxy before it must pass Upgrade"):
            Sandbox(url=url, token=TOKEN)
        with self.assertRaises(ValueError):
            Sandbox(url="ftp://example.com", token=TOKEN)
        with self.assertRaises(TypeError):
            Sandbox(token=TOKEN)

    def test_a_request_that_is_too_long_is_refused(self):
        sbx = self.sandbox()
        with mock.patch.object(_wire, "LINE_LIMIT", 1 << 20):
            with self.assertRaisesRegex(SandboxArgumentError, "in parts"):
                sbx.commands.run("cat", stdin="x" * (2 << 20))
            result = sbx.python.execute("try:\n    await big()\nexcept Exception as error:\n    print(error)",
                                        callbacks={"big": lambda: "x" * (2 << 20)})
            self.assertIn("in parts", result.stdout)
        self.assertEqual(sbx.commands.run("echo on").stdout, "on\n")
        self.assertEqual(sbx._link.server._pending, {})

    def test_a_second_client_attaches(self):
        first = self.sandbox()
        first.commands.run("A=here")
        with Sandbox(url=self.server.url, token=TOKEN, session_id=first.session_id) as second:
            self.assertEqual(second.commands.run("echo $A").stdout, "here\n")
        self.assertEqual(first.commands.run("echo $A").stdout, "here\n")  # it was let go of, and is there

    def test_a_lost_connection(self):
        wire = Wire(self.server.port)
        sbx = Sandbox(url=f"http://127.0.0.1:{wire.port}", token=TOKEN)
        self.addCleanup(sbx.kill)
        sbx.commands.run("A=kept; echo text > file")
        wire.cut()
        self.assertEqual(sbx.files.read_text("file"), "text\n")  # it only reads: it is sent again
        self.assertEqual(sbx.commands.run("echo $A").stdout, "kept\n")
        begun = threading.Event()
        lost: list = []

        def run() -> None:
            try:
                sbx.commands.run("echo begun; sleep 1000", on_stdout=lambda _: begun.set())
            except ConnectionLostError as error:
                lost.append(error)
        thread = threading.Thread(target=run)
        thread.start()
        begun.wait()
        wire.cut()
        thread.join()
        self.assertEqual(len(lost), 1)
        self.assertEqual(sbx.files.read_text("file"), "text\n")

    def test_a_session_that_has_ended_is_no_missing_file(self):
        wire = Wire(self.server.port)
        self.addCleanup(wire.listener.close)
        with Sandbox(url=f"http://127.0.0.1:{wire.port}", token=TOKEN) as sbx:
            sbx.files.write("f", "here")
            self.assertEqual(self.server.json("DELETE", f"/sessions/{sbx.session_id}", token=TOKEN)[0], 200)
            for _ in ("the same connection", "another one"):
                for ask in (lambda: sbx.files.exists("f"), lambda: sbx.files.read("f"), lambda: sbx.files.write("f", ""),
                            lambda: sbx.python.execute("1"), sbx.fork):
                    with self.assertRaisesRegex(ServerError, f"has no session {sbx.session_id} any more"):
                        ask()
                wire.cut()
            self.assertFalse(sbx.is_alive)

            async def awaited() -> bool:
                async with aio.Sandbox(url=self.server.url, token=TOKEN) as own:
                    self.server.json("DELETE", f"/sessions/{own.session_id}", token=TOKEN)
                    return await own.files.exists("f")

            with self.assertRaisesRegex(ServerError, "any more"):
                asyncio.run(awaited())

    def test_an_end_is_told_by_a_member_and_by_servers_of_before_in_words(self):
        for message, data, ended in [("ENOENT: gone, in other words", {"code": "SESSION_NOT_FOUND"}, True),
                                     ("ENOENT: gone, in other words", {"code": "SANDBOX_NOT_FOUND"}, True),
                                     ("ENOENT: there is no session 'x'", None, True),
                                     ("ENOENT: there is no sandbox 'x'", {"more": 1}, True),
                                     ("ENOENT: there is no session 'x'", {"code": "ANOTHER"}, False),
                                     ("ENOENT: No such file or directory: /there is no session 'x'", None, False)]:
            error = _errors.error_of(1, message, data)
            self.assertIsInstance(error, SandboxFileNotFoundError)
            self.assertEqual((_errors.has_ended(error), error.reason), (ended, (data or {}).get("code")), message)
        self.assertFalse(_errors.has_ended(RuntimeError("ENOENT: there is no session 'x'")))

    def test_a_message_may_take_longer_than_a_silence(self):
        slow = SlowReader()
        with mock.patch.object(_websocket, "_SILENCE_SECONDS", slow.silence_seconds):
            near = _websocket.WebSocket(f"http://127.0.0.1:{slow.port}", None)
            near.send(b"x" * slow.message_bytes)
            near.close()
        slow.thread.join()
        self.assertGreater(slow.received, slow.message_bytes)

    def test_asyncio(self):
        async def main() -> None:
            async with aio.Sandbox(url=self.server.url, token=TOKEN) as sbx:
                results = await asyncio.gather(*(sbx.commands.run(f"echo {i}") for i in range(10)))
                self.assertEqual([one.stdout for one in results], [f"{i}\n" for i in range(10)])
                task = asyncio.create_task(sbx.commands.run("sleep 1000"))
                await asyncio.sleep(0)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual((await sbx.commands.run("echo on")).stdout, "on\n")
                self.assertIsNotNone(sbx.session_id)
        asyncio.run(main())


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
