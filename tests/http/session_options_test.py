# SPDX-License-Identifier: Apache-2.0
"""What a request may ask its sandbox to be, within what the operator allows; and how many sessions there may be, how long."""
import asyncio
import json
import sys
import tempfile
import unittest
from pathlib import Path

from server import Server, until

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python" / "src"))
TOKEN = "test-token-one"


class SessionOptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = Path(cls.folder.name, "data")
        cls.data.mkdir()
        (cls.data / "f").write_text("of the host\n")
        cls.words = ["serve", "--token", TOKEN, "--session-processes", "20", "--session-env", "A=operator",
                     "--allow-session-processes", "30", "--allow-session-net", "*.example",
                     "--allow-session-mount", f"{cls.data}:/data:ro", "--allow-session-mount", f"{cls.data}/f:/etc/app:ro"]
        cls.server = Server(*cls.words)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0
        cls.folder.cleanup()

    def create(self, **sandbox) -> str:
        status, session = self.server.json("POST", "/sessions", {"sandbox": sandbox}, token=TOKEN)
        self.assertEqual(status, 200, session)
        self.assertEqual(list(session), ["sessionId", "status", "createdAt", "expiresAt",
                                         "lastActivityAt", "metadata", "image"])
        return session["sessionId"]

    def run_in(self, session, command, server=None) -> str:
        status, result = (server or self.server).json("POST", f"/sessions/{session}/commands",
                                                      {"command": command}, token=TOKEN)
        self.assertEqual(status, 200, result)
        return result["stdout"]

    def check_refusal(self, sandbox, status, code, *parts):
        got = self.server.json("POST", "/sessions", {"sandbox": sandbox}, token=TOKEN)
        self.assertEqual((got[0], got[1]["error"]), (status, code), got)
        for part in parts:
            self.assertIn(part, got[1]["message"])

    def test_a_server_whose_sandboxes_cannot_work_does_not_start(self):
        for words, said in ((["--session-memory", "1"], "no command can be run in a session with 1 bytes of memory"),
                            (["--session-memory", "1M"], "with 1048576 bytes of memory: "),
                            (["--session-packages", "nonesuch"], "no session can be made so: Package not found"),
                            (["--mcp-packages", "nonesuch"], "no sandbox of /mcp can be made so: Package not found"),
                            (["--mcp-network", "a b"], "no sandbox of /mcp can be made so: ")):
            with self.subTest(words), self.assertRaisesRegex(RuntimeError, said):
                Server("serve", *words).stop()
        with Server("serve", "--session-memory", "16M", "--mcp-packages", "numpy", "--mcp-network", "a.example"):
            pass

    def test_what_is_asked_for_is_had(self):
        session = self.create(env={"B": "mine"}, limits={"processes": 30, "openFiles": 64},
                              mounts=[{"host": str(self.data), "guest": "/data", "readOnly": True},
                                      {"host": str(self.data / "f"), "guest": "/etc/app", "readOnly": True}])
        self.assertEqual(self.run_in(session, "echo $A $B; cat /data/f /etc/app; ulimit -n"),
                         "operator mine\nof the host\nof the host\n64\n")
        self.assertEqual(self.run_in(session, "echo x > /data/f; cat /data/f"), "of the host\n")
        session = self.create()
        self.assertEqual(self.run_in(session, "echo $A $B; ls -d /data 2>/dev/null"), "operator\n")

    def test_what_is_malformed(self):
        self.check_refusal([], 400, "INVALID_PARAMETER", "sandbox must be an object")
        self.check_refusal({"memory": "1G"}, 400, "INVALID_PARAMETER", "sandbox: there is no option 'memory'",
                           "timeoutMs")
        self.check_refusal({"limits": {"memoryBytes": "1 parsec"}}, 400, "INVALID_PARAMETER",
                           "'limits.memoryBytes' must be a number of bytes")
        self.check_refusal({"limits": {"cpus": 0}}, 400, "INVALID_PARAMETER", "'limits.cpus' must be a number from 1")
        self.check_refusal({"env": {"A": "\0"}}, 400, "INVALID_PARAMETER", "NUL")
        self.check_refusal({"packages": ["no-such-package-of-ours"]}, 400, "INVALID_PARAMETER",
                           "no-such-package-of-ours")
        self.check_refusal({"network": {"deny": ["no rule"]}}, 400, "INVALID_PARAMETER", "no rule")
        self.check_refusal({"engine": "abacus"}, 400, "INVALID_PARAMETER", "wasm or linux")
        self.check_refusal({"env": {"A": "x" * (1 << 20)}}, 400, "INVALID_PARAMETER", "1 MiB")

    def test_what_belongs_into_sandbox(self):
        for body in ({"limits": {"cpus": 1}}, {"packages": ["numpy"]}):
            status, answer = self.server.json("POST", "/sessions", body, token=TOKEN)
            self.assertEqual((status, answer["error"]), (400, "INVALID_PARAMETER"))
            self.assertIn(f"'{next(iter(body))}' is a member of sandbox", answer["message"])

    def test_what_the_operator_does_not_allow(self):
        self.check_refusal({"limits": {"processes": 31}}, 403, "FORBIDDEN",
                           "'limits.processes' may be 30 here at most, not 31", "--allow-session-processes")
        self.check_refusal({"network": ["*.example.org"]}, 403, "FORBIDDEN", "the rule *.example.org")
        self.check_refusal({"network": ["localhost"]}, 403, "FORBIDDEN", "--allow-session-net")
        self.check_refusal({"mounts": [{"host": str(self.data), "guest": "/data"}]}, 403, "FORBIDDEN",
                           "to write to")
        # Whether it is there is not told.
        for path in ("/etc", "/nonexistent"):
            self.check_refusal({"mounts": [{"host": path, "guest": "/x"}]}, 403, "FORBIDDEN", path)
        self.check_refusal({"image": "/etc/passwd"}, 403, "FORBIDDEN", "'image' may not be")
        self.check_refusal({"engine": "linux"}, 403, "FORBIDDEN", "--allow-session-engine")
        self.check_refusal({"isolation": "gvisor"}, 403, "FORBIDDEN", "--allow-session-isolation")

    def test_it_survives_the_server(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [*self.words, "--state-dir", folder]
            with Server(*words) as server:
                session = server.json("POST", "/sessions", {"sandbox": {
                    "env": {"B": "kept"}, "limits": {"openFiles": 64},
                    "mounts": [{"host": str(self.data), "guest": "/data", "readOnly": True}]}},
                                      token=TOKEN)[1]["sessionId"]
                server.process.kill()
                server.process.wait()
            with Server(*words) as server:
                self.assertEqual(self.run_in(session, "echo $B; cat /data/f; ulimit -n", server),
                                 "kept\nof the host\n64\n")

    def test_the_sdk(self):
        try:
            import sandbox_sessions_sdk as sdk
            from sandbox_sessions_sdk import aio
        except ImportError as error:
            self.skipTest(str(error))
        with sdk.SessionsClient(self.server.url, TOKEN) as client:
            session = client.create_session(sandbox={"env": {"B": "sdk"}})
            self.assertEqual(self.run_in(session.session_id, "echo $B"), "sdk\n")
            with self.assertRaises(sdk.SandboxOperationError) as caught:
                client.create_session(sandbox={"limits": {"processes": 31}})
            self.assertIn("--allow-session-processes", str(caught.exception))
            with self.assertRaises(sdk.SandboxOperationError) as caught:
                client.create_session(sandbox={"colour": "blue"})
            self.assertIn("'colour'", str(caught.exception))

        async def at_once():
            async with aio.SessionsClient(self.server.url, TOKEN) as client:
                session = await client.create_session(sandbox={"env": {"B": "aio"}})
                self.assertEqual(self.run_in(session.session_id, "echo $B"), "aio\n")

        asyncio.run(at_once())


class Limits(unittest.TestCase):
    def test_rates_and_numbers_of_sessions(self):
        with Server("serve", "--token", TOKEN, "--max-token-sessions", "2", "--rate-limit", "6") as server:
            for status in [200, 200, 429, 429, 429, 429]:
                got, headers, body = server.ask("POST", "/sessions", token=TOKEN)
                self.assertEqual(got, status)
            self.assertEqual(json.loads(body)["error"], "RATE_LIMITED")
            self.assertEqual(headers["X-RateLimit-Limit"], "2")
            got, headers, body = server.ask("GET", "/sessions", token=TOKEN)
            self.assertEqual((got, json.loads(body)["error"]), (429, "RATE_LIMITED"))
            self.assertEqual((headers["X-RateLimit-Limit"], headers["X-RateLimit-Remaining"]),
                             ("6", "0"))
            self.assertTrue(headers["X-RateLimit-Reset"].isdigit())
            self.assertEqual(server.ask("GET", "/health")[0], 200)

    def test_an_idle_session_ends(self):
        with Server("serve", "--idle-timeout", "1") as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]
            # A running command is no idleness.
            self.assertEqual(server.json("POST", f"/sessions/{session}/commands",
                                         {"command": "sleep 1.5"})[1]["exitCode"], 0)
            until(lambda: server.json("GET", "/sessions")[1]["total"] == 0, "it is idle")
            self.assertEqual(server.ask("GET", f"/sessions/{session}")[0], 404)
            self.assertIn("reason=idle", server.log())


if __name__ == "__main__":
    unittest.main()
