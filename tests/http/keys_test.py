# SPDX-License-Identifier: Apache-2.0
"""Keys of cells, with all their sessions, that go from one server to another (cloche cells)."""
import json
import os
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from peers_test import SECRET, TOKENS, Cells, key_of
from server import PROGRAM, until


class Keys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.state = folder.name
        self.cells = Cells("--state-dir", self.state, "--take-keys")
        self.addCleanup(self.cells.__exit__)

    def command(self, *words, status=0):
        done = subprocess.run([PROGRAM, "cells", *words, "--peers", f"file:{self.cells.peers}", "--peer-token-file",
                               str(self.cells.secret)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def ask(self, key, method, path, body=None, **more):
        return self.cells[key].ask(method, path, body, token=TOKENS[0], **more)

    def run_in(self, key, session, text):
        status, _, body = self.ask(key, "POST", f"/sessions/{session}/commands", {"command": text})
        self.assertEqual(status, 200, body)
        return json.loads(body)["stdout"]

    def has(self, key):
        report = self.cells[key].ask("GET", "/cell", headers={"X-Cloche-Hop": SECRET})[2]
        return json.loads(report)["keys"]

    def test_a_key_goes_with_its_sessions_and_comes_back(self):
        session, paused = self.cells.create(3), self.cells.create(3)
        other = self.cells.create(2)
        self.run_in(1, session, "echo kept > f")
        self.assertEqual(self.ask(1, "POST", f"/sessions/{paused}/pause")[0], 200)
        self.assertEqual(self.command("move", "3", "1"), "key 3 is with cell 1\n")
        self.assertEqual((self.has(1), self.has(2), self.has(3)), ([1, 3], [2], []))
        for key in (1, 2, 3):
            self.assertEqual(self.run_in(key, session, "cat f"), "kept\n")
            self.assertEqual(json.loads(self.ask(key, "GET", f"/sessions/{paused}")[2])["status"], "paused")
        self.assertEqual(self.ask(2, "POST", f"/sessions/{paused}/resume")[0], 200)
        # It is in the list once, in its place.
        listed = [s["sessionId"] for s in json.loads(self.ask(2, "GET", "/sessions")[2])["sessions"]]
        self.assertEqual(listed, [other, paused, session])
        # A cell without its own key makes no session: another one does.
        self.assertIn(key_of(self.cells.create(3)), (1, 2))
        self.assertEqual(self.ask(2, "DELETE", f"/sessions/{paused}")[0], 200)
        self.assertEqual([self.ask(key, "GET", f"/sessions/{paused}")[0] for key in (1, 2, 3)], [404] * 3)
        self.run_in(3, session, "echo more >> f")
        self.assertEqual(self.command("move", "3", "3"), "key 3 is with cell 3\n")
        self.assertEqual((self.has(1), self.has(3)), ([1], [3]))
        self.assertEqual(self.run_in(1, session, "cat f"), "kept\nmore\n")
        self.assertEqual(key_of(self.cells.create(3)), 3)
        self.assertIn("cell 3 127.0.0.1:", self.command("list"))

    def test_a_peer_that_is_mistaken_about_a_key_is_led_on(self):
        session = self.cells.create(3)
        self.assertEqual(self.command("move", "3", "2"), "key 3 is with cell 2\n")
        send = lambda secret, hops, **more: self.ask(1, "POST", f"/sessions/{session}/commands", {"command": "echo on"}, headers={
            "X-Cloche-Hop": secret, "X-Cloche-Hops": str(hops), **more})[0]
        # Cell 1 has never had it.
        self.assertEqual([send(SECRET, hops) for hops in (1, 2)], [200, 200])
        # It goes round no more than so often, and strangers are not believed.
        self.assertEqual([send(SECRET, 3), send("not-" + SECRET, 1)], [421, 421])
        # While it has time it may go on, as a key may.
        timed = {"X-Cloche-Patience": "5000"}
        self.assertEqual([send(SECRET, 3, **timed), send(SECRET, 32, **timed), send(SECRET, "x", **timed)], [200, 421, 421])
        self.assertEqual(send(SECRET, 1, **{"X-Cloche-Patience": "0"}), 503)

    def test_under_load_no_request_fails_and_nothing_is_lost(self):
        sessions = [self.cells.create(3) for _ in range(12)]
        lines = {session: [] for session in sessions}
        failures, ended = [], threading.Event()

        def client(own, key):
            line = 0
            while not ended.is_set():
                for session in own:
                    line += 1
                    run = lambda: self.ask(key, "POST", f"/sessions/{session}/commands", {"command": f"echo {line} >> log"})
                    status, headers, body = run()
                    # A busy machine may take longer for a move than a request waits: then nothing was done.
                    while status == 503 and "Retry-After" in headers:
                        status, headers, body = run()
                    if status == 200 and json.loads(body)["exitCode"] == 0:
                        lines[session].append(line)
                    else:
                        failures.append((status, body))

        threads = [threading.Thread(target=client, args=(sessions[i::3], i + 1)) for i in range(3)]
        for thread in threads:
            thread.start()
        count = lambda: sum(map(len, lines.values()))
        try:
            for to in (1, 2, 3, 2, 1):
                wanted = count() + 40
                until(lambda: count() >= wanted or failures, "commands are acknowledged")
                self.command("move", "3", str(to))
            wanted = count() + 40
            until(lambda: count() >= wanted or failures, "commands are acknowledged")
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        for session in sessions:
            self.assertEqual(self.run_in(2, session, "cat log"), "".join(f"{line}\n" for line in lines[session]))

    def hand(self, method, cell):
        """Key 3 is given up by that cell, or taken."""
        self.assertEqual(self.cells[cell].ask(method, "/cell/keys/3", headers={"X-Cloche-Hop": SECRET})[0], 200)

    def waiting_at(self, cell):
        page = self.cells[cell].ask("GET", "/metrics")[2].decode()
        return int(next(line.split()[1] for line in page.splitlines() if line.startswith("cloche_forwarding ")))

    def test_who_waits_for_a_key_is_answered_by_whoever_takes_it(self):
        session = self.cells.create(3)
        holder = 3
        for taker in (1, 1, 2, 1, 3, 3):
            self.hand("DELETE", holder)
            answers = []
            run = lambda key: answers.append(self.ask(key, "POST", f"/sessions/{session}/commands", {"command": f"echo {key} >> log"})[0])
            threads = [threading.Thread(target=run, args=(key,)) for key in (1, 2, 3)]
            for thread in threads:
                thread.start()
            until(lambda: sum(map(self.waiting_at, (1, 2, 3))) >= 3, "all wait")
            self.hand("PUT", taker)
            for thread in threads:
                thread.join()
            self.assertEqual(answers, [200] * 3, f"cell {taker} has taken the key")
            holder = taker
        self.assertEqual(sorted(self.run_in(1, session, "cat log").split()), sorted("123" * 6))

    def test_a_key_of_a_cell_that_is_gone_is_taken_by_another(self):
        session = self.cells.create(3)
        self.run_in(3, session, "echo kept > f")
        self.cells[3].process.kill()
        self.cells[3].process.wait()
        self.assertEqual(self.command("move", "3", "2"), "key 3 is with cell 2\n")
        until(lambda: self.ask(1, "GET", f"/sessions/{session}")[0] == 200, "the others know")
        status, headers, body = self.ask(1, "POST", f"/sessions/{session}/commands", {"command": "cat f"})
        self.assertEqual((status, json.loads(body)["stdout"], headers["X-Cloche-Restarted"]), (200, "kept\n", "true"))
        # Whoever comes back finds that its folder is another one's, and does not start.
        with self.assertRaisesRegex(RuntimeError, "another server keeps its sessions"):
            self.cells.start(3)

    def test_a_cell_that_starts_anew_has_the_keys_that_it_had(self):
        session = self.cells.create(3)
        self.run_in(3, session, "echo kept > f")
        self.command("move", "3", "1")
        for end in (lambda: self.cells[1].process.kill(), lambda: self.cells[1].stop()):
            end()
            self.cells[1].process.wait()
            self.cells.start(1)
            self.assertEqual(self.has(1), [1, 3])
            for key in (1, 2, 3):
                self.assertEqual(self.run_in(key, session, "cat f"), "kept\n")
        # What has been given to another cell since is that one's.
        self.command("move", "3", "3")
        self.cells[1].stop()
        self.cells.start(1)
        self.assertEqual((self.has(1), self.has(3)), ([1], [3]))

    def test_the_list_names_who_is_not_heard(self):
        gone, place = self.cells[3], self.cells.place_of(self.cells[3])
        gone.process.kill()
        gone.process.wait()
        self.assertEqual(self.command("list", status=1), f"cloche cells: {place} does not answer: where cells speak TLS, say --peer-ca\n")
        with self.cells.peers.open("a") as peers:
            peers.write("no-such-cell.invalid:80\n")
        self.assertIn("cloche cells: no-such-cell.invalid:80 has no address\n", self.command("list", status=1))
        self.cells.secret.write_text("another\n")
        said = self.command("list", status=1)
        for key in (1, 2):
            self.assertIn(f"cloche cells: {self.cells.place_of(self.cells[key])} is no cell, or knows another secret\n", said)

    def test_words_that_it_does_not_know(self):
        self.assertIn("cells knows list and move, not 'foo'", self.command("foo", status=2))
        done = subprocess.run([PROGRAM, "cells", "move", "3"], capture_output=True, text=True, timeout=120)
        self.assertIn("move wants KEY and CELL", done.stderr)

    def test_a_thousand_paused_sessions_are_moved_within_ten_seconds(self):
        count = int(os.environ.get("MOVED_SESSIONS", "1000"))
        connection = self.cells[3].connection()
        ids = []
        for _ in range(count):
            _, _, body = self.ask(3, "POST", "/sessions", {"ttl": 3600}, connection=connection)
            ids.append(json.loads(body)["sessionId"])
            self.assertEqual(self.ask(3, "POST", f"/sessions/{ids[-1]}/pause", connection=connection)[0], 200)
        begin = time.monotonic()
        self.command("move", "3", "1")
        took_s = time.monotonic() - begin
        self.assertEqual(json.loads(self.ask(2, "GET", "/sessions?limit=1")[2])["total"], count)
        self.assertEqual(self.ask(2, "POST", f"/sessions/{ids[0]}/resume")[0], 200)
        self.run_in(2, ids[0], "true")
        print(f"\n{count} paused sessions were moved in {took_s:.2f} s")
        self.assertLess(took_s, 10)

    def test_what_runs_has_its_time_and_then_ends(self):
        session = self.cells.create(3)
        answers = []
        run = lambda text: answers.append(json.loads(self.ask(3, "POST", f"/sessions/{session}/commands", {"command": text})[2]))
        short = threading.Thread(target=run, args=("touch begun; sleep 1; echo done",))
        short.start()
        until(lambda: self.ask(3, "GET", f"/sessions/{session}/files?filePath=begun")[0] == 200, "it has begun")
        self.command("move", "3", "1")
        short.join()
        long = threading.Thread(target=run, args=("touch again; sleep 100; echo done",))
        long.start()
        until(lambda: self.ask(3, "GET", f"/sessions/{session}/files?filePath=again")[0] == 200, "it has begun")
        self.command("move", "3", "2", "--patience", "0")
        long.join()
        self.assertEqual([answer["stdout"] for answer in answers], ["done\n", ""])
        self.assertEqual(self.run_in(1, session, "ls"), "again\nbegun\n")

    def test_what_cannot_be_done_is_refused_and_changes_nothing(self):
        session = self.cells.create(3)
        self.assertIn("cell 9 does not answer", self.command("move", "3", "9", status=1))
        self.assertIn("a key is 1 to 65535", self.command("move", "0", "1", status=2))
        hop = {"X-Cloche-Hop": SECRET}
        for method, path, wanted in [("PUT", "/cell/keys/0", 400), ("PUT", "/cell/keys/x", 400), ("PUT", "/cell/keys/70000", 400),
                                     ("PUT", "/cell/keys/3", 409), ("DELETE", "/cell/keys/2", 404), ("GET", "/cell/keys/1", 405),
                                     ("DELETE", "/cell/keys/1?patience=x", 400)]:
            self.assertEqual(self.cells[1].ask(method, path, headers=hop)[0], wanted, (method, path))
        # Without the secret there is nothing there.
        for headers in [{}, {"X-Cloche-Hop": "forged"}]:
            self.assertIn(self.ask(1, "DELETE", "/cell/keys/1", headers=headers)[0], (404, 405))
        self.assertEqual((self.has(1), self.has(3)), ([1], [3]))
        self.run_in(2, session, "true")


class Refusals(unittest.TestCase):
    def test_a_cell_without_room_or_leave_takes_none_and_the_one_before_keeps_it(self):
        with tempfile.TemporaryDirectory() as folder:
            more = {1: ["--max-sessions", "1", "--take-keys"], 2: [], 3: ["--take-keys"]}
            with Cells("--state-dir", folder, more=more) as cells:
                ids = [cells.create(3) for _ in range(2)]
                for to, why in [("1", "no room for the 2 sessions"), ("2", "takes no keys of others")]:
                    done = subprocess.run([PROGRAM, "cells", "move", "3", to, "--peers", f"file:{cells.peers}", "--peer-token-file",
                                           str(cells.secret)], capture_output=True, text=True, timeout=120)
                    self.assertEqual(done.returncode, 1)
                    self.assertIn(why, done.stderr)
                    for session in ids:
                        self.assertEqual(cells[1].ask("GET", f"/sessions/{session}", token=TOKENS[0])[0], 200)


if __name__ == "__main__":
    unittest.main()
