# SPDX-License-Identifier: Apache-2.0
"""Who may use the server, and how that changes while it runs."""
import hashlib
import signal
import tempfile
import time
import unittest
from pathlib import Path

from server import PATIENCE_S, Server, until
from websocket import Refused, Rpc


def line(name: str, token: str) -> str:
    return f"{name} {hashlib.sha256(token.encode()).hexdigest()}\n"


class TokensTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "tokens"
        self.file.write_text("# who\n" + line("ann", "one") + line("bob", "two"))
        self.server = Server("serve", "--tokens-file", str(self.file), "--token", "always")
        self.addCleanup(self.server.stop)

    def status(self, token: str) -> int:
        return self.server.ask("GET", "/sessions", token=token)[0]

    def read_again(self, event: str) -> None:
        """SIGHUP, and the event of the log that answers it."""
        before = self.server.log().count(event)
        self.server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + PATIENCE_S
        while self.server.log().count(event) == before:
            self.assertIsNone(self.server.process.poll(), self.server.log())
            self.assertLess(time.monotonic(), deadline, self.server.log())
            time.sleep(0.01)

    def test_sighup_reads_the_file_again(self):
        self.assertEqual([self.status(t) for t in ("one", "two", "three", "always")], [200, 200, 401, 200])
        self.file.write_text(line("bob", "two") + line("cid", "three"))
        self.read_again("tokens_read")
        self.assertEqual([self.status(t) for t in ("one", "two", "three", "always")], [401, 200, 200, 200])

    def test_a_file_that_has_changed_is_read_again(self):
        self.file.write_text(line("cid", "three"))
        until(lambda: self.status("three") == 200, "the new token counts")
        self.assertEqual([self.status(t) for t in ("one", "three", "always")], [401, 200, 200])
        # As a folder of secrets is swapped: nothing is written where it was.
        other = self.file.with_name("next")
        other.write_text(line("dan", "four"))
        other.rename(self.file)
        until(lambda: self.status("four") == 200, "the new token counts")

    def test_a_file_that_is_not_good_changes_nothing(self):
        for content in ("ann nonsense\n", "ann\n", line("ann", "one") + line("eve", ""), None):
            if content is None:
                self.file.unlink()
            else:
                self.file.write_text(content)
            self.read_again("tokens_not_read")
            self.assertEqual([self.status(t) for t in ("one", "three")], [200, 401])

    def test_an_owner_keeps_sessions_under_a_new_token(self):
        status, _, body = self.server.ask("POST", "/sessions", token="one")
        self.assertEqual(status, 200, body)
        self.file.write_text(line("ann", "new"))
        self.read_again("tokens_read")
        self.assertIn(b'"sessionId"', self.server.ask("GET", "/sessions", token="new")[2])
        self.assertEqual(self.server.stop(), 0)

    def log_in(self, token: str):
        """(status, the fields of a browser that is logged in then)"""
        status, fields, _ = self.server.ask("POST", "/console/login", {"token": token})
        return status, {"Cookie": fields.get("Set-Cookie", "").partition(";")[0]}

    def is_logged_in(self, browser: dict) -> bool:
        return self.server.json("GET", "/console/login", headers=browser)[1]["loggedIn"]

    def test_a_login_lasts_as_long_as_its_token(self):
        logins = [self.log_in(token) for token in ("one", "two", "always")]
        self.assertEqual([status for status, _ in logins], [204] * 3)
        self.assertEqual([self.is_logged_in(browser) for _, browser in logins], [True] * 3)
        Rpc(self.server.port, headers=logins[0][1]).socket.close()
        self.file.write_text(line("ann", "new") + line("bob", "two"))
        self.read_again("tokens_read")
        self.assertEqual([self.is_logged_in(browser) for _, browser in logins], [False, True, True])
        with self.assertRaisesRegex(Refused, "401"):
            Rpc(self.server.port, headers=logins[0][1])
        Rpc(self.server.port, headers=logins[1][1]).socket.close()

    def test_wrong_tokens_shut_nobody_out_of_the_console(self):
        failed = [self.log_in("wrong")[0] for _ in range(62)]
        self.assertEqual((failed[0], failed[-1]), (401, 429))
        self.assertEqual(self.log_in("one")[0], 204)


if __name__ == "__main__":
    unittest.main()
