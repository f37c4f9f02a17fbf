# SPDX-License-Identifier: Apache-2.0
"""Cells that know each other (--peers): any of them answers for all."""
import json
import os
import re
import signal
import socket
import tempfile
import threading
import time
import unittest
from pathlib import Path

from server import Server, free_port, until

TOKENS = ["test-token-one", "test-token-two"]
SECRET = "a-secret-of-the-cells"


class Cells:
    """Some cells whose addresses are in a file, which is written anew whenever one starts."""

    def __init__(self, *words, keys=(1, 2, 3), more=None, program="serve", ssh=False):
        self.folder = tempfile.TemporaryDirectory()
        self.peers = Path(self.folder.name, "peers")
        self.secret = Path(self.folder.name, "secret")
        self.secret.write_text(SECRET + "\n")
        self.words, self.more, self.program, self.ssh = words, more or {}, program, ssh
        self.running = {}
        self.peers.touch()
        for key in keys:
            self.start(key)
        self.until_known()

    def start(self, key):
        self.start_unknown(key)
        self.make_known()

    def start_while_asked(self, key, ask):
        """What `ask` answers that begins before the others know of that cell. How long a machine takes to start a server
        is no part of how long they wait."""
        self.start_unknown(key)
        answers = []
        thread = threading.Thread(target=lambda: answers.append(ask()))
        thread.start()
        self.make_known()
        thread.join()
        return answers[0]

    def start_unknown(self, key):
        tokens = [word for token in TOKENS for word in ["--token", token]] if self.program == "serve" else []
        self.running[key] = self.make_server(*self.program.split(), "--cell-key", str(key), "--peers", f"file:{self.peers}",
                                             "--peer-token-file", str(self.secret), *tokens, *self.words, *self.more.get(key, []),
                                             ssh=self.ssh)

    def make_known(self):
        part = self.peers.with_suffix(".part")
        part.write_text("# the cells\n" + "".join(f"{self.place_of(s)}\n" for s in self.running.values()))
        os.replace(part, self.peers)

    def make_server(self, *words, **more):
        return Server(*words, **more)

    def place_of(self, server):
        return f"127.0.0.1:{server.port}"

    def until_known(self):
        """Each asks for a session of each of the others: a cell that is not known yet answers 421."""
        for server in self.running.values():
            for key in self.running:
                path = "/sessions/01234567-89ab-4cde-8f01-23456789%04x" % key
                if self.program != "serve":
                    known = lambda: server.ask("DELETE", path)[0] == 404
                else:
                    known = lambda: server.ask("GET", path, token=TOKENS[0])[0] == 404
                until(known, f"cell {key} is known")

    def __getitem__(self, key):
        return self.running[key]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.running.values():
            server.stop()
        self.folder.cleanup()

    def create(self, key, token=TOKENS[0], **body):
        status, session = self[key].json("POST", "/sessions", body, token=token)
        assert status == 200, session
        return session["sessionId"]


def key_of(session: str) -> int:
    return int(session[-4:], 16)


class Peers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cells = Cells()
        cls.addClassCleanup(cls.cells.__exit__)

    def ask(self, key, *words, **more):
        return self.cells[key].ask(*words, token=TOKENS[0], **more)

    def test_a_session_is_there_by_every_cell(self):
        session = self.cells.create(1, metadata={"b": 1, "a": "ä"})
        for prefix in ["", "/v1"]:
            path = f"{prefix}/sessions/{session}"
            told = [json.loads(self.ask(key, "GET", path)[2])["metadata"] for key in (1, 2, 3)]
            self.assertEqual(told, [{"b": 1, "a": "ä"}] * 3)
            large = os.urandom(3_000_000)
            self.assertEqual(self.ask(2, "POST", path + "/files?path=large&overwrite=true", large)[0], 201)
            self.assertEqual(self.ask(3, "GET", path + "/files?filePath=large")[2], large)
            status, _, body = self.ask(3, "POST", path + "/commands", {"command": "wc -c < large; exit 3"})
            self.assertEqual((status, json.loads(body)["stdout"], json.loads(body)["exitCode"]), (200, "3000000\n", 3))
            self.assertEqual(self.ask(2, "POST", path + "/commands", {"command": ""})[0], 400)
        self.assertEqual(self.ask(2, "POST", path + "/pause")[0], 200)
        self.assertEqual(self.ask(3, "POST", path + "/commands", {"command": "true"})[0], 409)
        self.assertEqual(self.ask(3, "POST", path + "/resume")[0], 200)
        self.assertEqual(self.cells[2].ask("GET", path, token=TOKENS[1])[0], 404)
        self.assertEqual(self.cells[2].ask("GET", path, token="none")[0], 401)
        self.assertEqual(self.ask(2, "DELETE", path)[0], 200)
        self.assertEqual([self.ask(key, "GET", path)[0] for key in (1, 2, 3)], [404] * 3)

    def test_an_answer_that_begins_early_comes_through(self):
        session = self.cells.create(1)
        status, _, body = self.ask(2, "POST", f"/sessions/{session}/commands", {"command": "sleep 11; echo late"})
        self.assertEqual((status, body[:1], json.loads(body)["stdout"]), (200, b" ", "late\n"))

    def test_a_repeated_request_is_done_once_whichever_cell_is_asked(self):
        session = self.cells.create(1)
        for key in (2, 3, 1):
            status, _, body = self.ask(key, "POST", f"/sessions/{session}/commands", {"command": "echo x >> f; cat f"},
                                       headers={"Idempotency-Key": "k"})
            self.assertEqual((status, json.loads(body)["stdout"]), (200, "x\n"))

    def test_tunnels_come_through(self):
        import paramiko
        session = self.cells.create(1)
        for target in [f"/sessions/{session}", f"/v1/sessions/{session}/tunnel", f"{session}:22"]:
            with socket.create_connection(("127.0.0.1", self.cells[2].port)) as sock:
                sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             f"Proxy-Authorization: Bearer {TOKENS[0]}\r\n\r\n".encode())
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += sock.recv(1)
                self.assertTrue(head.startswith(b"HTTP/1.1 200 "), head)
                transport = paramiko.Transport(sock)
                transport.connect(username="sandbox", password=TOKENS[0])
                channel = transport.open_session()
                channel.exec_command("cat > f; wc -c < f; exit 5")
                channel.sendall(b"x" * 200_000)
                channel.shutdown_write()
                self.assertEqual((channel.makefile().read(), channel.recv_exit_status()), (b"200000\n", 5))
                transport.close()

    def test_what_was_passed_on_is_passed_on_no_further(self):
        session = self.cells.create(1)
        # A peer that is mistaken is led on, and not for ever.
        for secret, hops in [("forged", 1), (SECRET, 3), (SECRET, 4)]:
            status, headers, _ = self.ask(2, "GET", f"/sessions/{session}", headers={"X-Cloche-Hop": secret, "X-Cloche-Hops": str(hops)})
            self.assertEqual((status, headers["X-Cloche-Cell"]), (421, "1"))
        self.assertEqual(self.ask(2, "GET", f"/sessions/{session}", headers={"X-Cloche-Hop": SECRET, "X-Cloche-Hops": "1"})[0], 200)
        self.assertEqual(self.ask(2, "GET", "/cell")[0], 404)
        self.assertEqual(self.ask(2, "GET", "/cell", headers={"X-Cloche-Hop": "forged"})[0], 404)
        report = json.loads(self.ask(2, "GET", "/cell", headers={"X-Cloche-Hop": SECRET})[2])
        self.assertEqual((report["key"], report["ready"]), (2, True))
        self.assertEqual(self.ask(2, "GET", "/sessions?limit=101", headers={"X-Cloche-Hop": "forged"})[0], 400)

    def test_the_list_is_of_all_cells(self):
        token = TOKENS[1]
        ids = [self.cells.create(1 + i % 3, token) for i in range(10)]
        for key in (1, 2, 3):
            page = lambda query: self.cells[key].json("GET", "/sessions" + query, token=token)[1]
            whole = page("")
            self.assertEqual((sorted(s["sessionId"] for s in whole["sessions"]), whole["total"]), (sorted(ids), 10))
            times = [s["createdAt"] for s in whole["sessions"]]
            self.assertEqual(times, sorted(times, reverse=True))
            order = [s["sessionId"] for s in whole["sessions"]]
            parts = [s["sessionId"] for offset in range(0, 12, 3) for s in page(f"?limit=3&offset={offset}")["sessions"]]
            self.assertEqual(parts, order)
            self.assertEqual(page("?offset=1000"), {"sessions": [], "total": 10, "limit": 50, "offset": 1000})
        self.assertEqual(self.cells[1].ask("GET", "/sessions?limit=101", token=token)[0], 400)
        self.assertEqual(self.cells[1].ask("GET", "/sessions?offset=18446744073709551615", token=token)[0], 400)


class Room(unittest.TestCase):
    def test_a_full_cell_hands_new_sessions_on(self):
        more = {1: ["--max-sessions", "0"], 2: ["--max-sessions", "2"], 3: ["--max-sessions", "2"]}
        with Cells(more=more) as cells:
            keys = sorted(key_of(cells.create(1)) for _ in range(4))
            self.assertEqual(keys, [2, 2, 3, 3])
            for key in (1, 2, 3):
                status, headers, body = cells[key].ask("POST", "/sessions", token=TOKENS[0])
                self.assertEqual((status, json.loads(body)["error"]), (503, "CELL_FULL"))
                self.assertTrue(headers["Retry-After"].isdigit())
            self.assertEqual(cells[1].ask("POST", "/sessions", {"ttl": 1}, token=TOKENS[0])[0], 400)

    def test_what_another_cell_made_for_a_repeated_request_is_remembered(self):
        with Cells(more={1: ["--max-sessions", "0"]}) as cells:
            ask = lambda: cells[1].ask("POST", "/sessions", {}, token=TOKENS[0], headers={"Idempotency-Key": "k"})
            status, _, body = ask()
            self.assertEqual(status, 200)
            # Whoever is chosen now is another one.
            cells[key_of(json.loads(body)["sessionId"])].stop()
            status, headers, again = ask()
            self.assertEqual((status, headers["X-Cloche-Replayed"], again), (200, "true", body))

    def test_an_owner_has_a_limit_over_all_cells(self):
        with Cells("--max-token-sessions", "3", more={3: ["--max-sessions", "0"]}) as cells:
            ids = [cells.create(key) for key in (1, 2, 1)]
            for key in (1, 2, 3):
                status, headers, body = cells[key].ask("POST", "/sessions", token=TOKENS[0])
                self.assertEqual((status, json.loads(body)["error"], headers["X-RateLimit-Limit"]), (429, "RATE_LIMITED", "3"))
            cells.create(2, TOKENS[1])
            self.assertEqual(cells[2].ask("DELETE", f"/sessions/{ids[0]}", token=TOKENS[0])[0], 200)
            cells.create(2)

    def test_not_even_those_that_are_asked_for_at_once_go_over_a_limit(self):
        limit = 20
        with Cells("--max-token-sessions", str(limit)) as cells:
            for _ in range(3):
                answers = []

                def ask(key, answers=answers):
                    status, body = cells[key].json("POST", "/sessions", token=TOKENS[0])
                    answers.append((status, body.get("sessionId"), body.get("error")))

                threads = [threading.Thread(target=ask, args=(1 + i % 3,)) for i in range(3 * limit)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                made = [session for _, session, _ in answers if session]
                self.assertEqual({(status, error) for status, session, error in answers if not session}, {(429, "RATE_LIMITED")})
                self.assertLessEqual(len(made), limit)
                # Whoever was in the way of one that was refused itself is not any more.
                while len(made) < limit:
                    made.append(cells.create(1 + len(made) % 3))
                for key in (1, 2, 3):
                    self.assertEqual(cells[key].ask("POST", "/sessions", token=TOKENS[0])[0], 429)
                self.assertEqual(cells[2].json("GET", "/sessions", token=TOKENS[0])[1]["total"], limit)
                for session in made:
                    self.assertEqual(cells[1].ask("DELETE", f"/sessions/{session}", token=TOKENS[0])[0], 200)

    def test_a_cell_that_starts_anew_has_heard_of_the_ranks_of_the_others(self):
        with Cells(keys=(1, 2)) as cells:
            for _ in range(5):
                cells.create(1)
            rank = lambda key: json.loads(cells[key].ask("GET", "/cell", headers={"X-Cloche-Hop": SECRET})[2])["rank"]
            self.assertGreaterEqual(rank(1), 5)
            cells[2].process.kill()
            cells[2].process.wait()
            cells.start(2)
            self.assertGreaterEqual(rank(2), rank(1))

    def test_what_a_cell_that_is_gone_has_counts_no_more_after_a_while(self):
        with tempfile.TemporaryDirectory() as folder, Cells("--max-token-sessions", "3", "--state-dir", folder) as cells:
            kept = [cells.create(2) for _ in range(3)]
            ask = lambda key: cells[key].ask("POST", "/sessions", token=TOKENS[0])[0]
            self.assertEqual(ask(1), 429)
            # One that starts anew is waited for, and has the same ones again.
            cells[2].process.kill()
            cells[2].process.wait()
            self.assertEqual(cells.start_while_asked(2, lambda: ask(1)), 429)
            cells[2].process.kill()
            cells[2].process.wait()
            # At most as many again as the limit is, however many cells make them.
            for key in (1, 3, 1):
                self.assertEqual(ask(key), 200)
            self.assertEqual([ask(key) for key in (1, 3)], [429] * 2)
            cells.start(2)
            cells.until_known()
            self.assertEqual([ask(key) for key in (1, 2, 3)], [429] * 3)
            self.assertEqual(cells[2].ask("DELETE", f"/sessions/{kept[0]}", token=TOKENS[0])[0], 200)
            self.assertEqual(ask(2), 429)
            self.assertRegex(cells[1].ask("GET", "/metrics")[2].decode(), r"\ncloche_owners_not_counted_total [1-9]")

    def test_a_strict_limit_wants_every_cell(self):
        with tempfile.TemporaryDirectory() as folder, \
                Cells("--max-token-sessions", "3", "--strict-token-sessions", "--state-dir", folder) as cells:
            cells.create(2)
            cells[2].process.kill()
            cells[2].process.wait()
            for key in (1, 3):
                status, headers, body = cells[key].ask("POST", "/sessions", token=TOKENS[0])
                self.assertEqual((status, json.loads(body)["error"]), (503, "CELL_FULL"))
                self.assertIn("does not say how many", json.loads(body)["message"])
                self.assertTrue(headers["Retry-After"].isdigit())
            cells.start(2)
            cells.until_known()
            for key in (1, 3):
                cells.create(key)
            self.assertEqual(cells[1].ask("POST", "/sessions", token=TOKENS[0])[0], 429)


class Away(unittest.TestCase):
    def test_a_cell_that_starts_anew_is_waited_for(self):
        with tempfile.TemporaryDirectory() as folder, Cells("--state-dir", folder, keys=(1, 2)) as cells:
            path = "/sessions/" + cells.create(2)
            run = lambda key, text: cells[key].json("POST", path + "/commands", {"command": text}, token=TOKENS[0])
            self.assertEqual(run(1, "echo kept > f")[0], 200)
            cells[2].process.kill()
            cells[2].process.wait()
            status, result = cells.start_while_asked(2, lambda: run(1, "cat f"))  # on another port
            self.assertEqual((status, result["stdout"]), (200, "kept\n"))

    def test_one_that_has_not_been_there_yet_is_waited_for(self):
        with Cells(keys=(1,)) as cells:
            path = "/sessions/01234567-89ab-4cde-8f01-234567890002"
            ask = lambda: cells[1].ask("GET", path, token=TOKENS[0])[0]
            self.assertEqual(ask(), 421, "there is no such cell")
            cells.peers.write_text(cells.peers.read_text() + f"127.0.0.1:{free_port()}\n")
            until(lambda: ask() == 503, "somebody may be about to have that key")
            self.assertEqual(cells[1].ask("GET", "/sessions", token=TOKENS[0])[1]["X-Cloche-Missing-Cells"], "?")
            self.assertEqual(cells.start_while_asked(2, ask), 404)

    def test_who_asks_for_a_cell_that_is_gone_leaves_places_to_others(self):
        with Cells(keys=(1, 2)) as cells:
            path = "/sessions/" + cells.create(2)
            cells[2].process.kill()
            cells[2].process.wait()
            many, stop = [], threading.Event()

            def ask_on():
                while not stop.is_set():
                    cells[1].ask("GET", path, token=TOKENS[0])
            for _ in range(300):
                many.append(threading.Thread(target=ask_on))
                many[-1].start()
            waiting = lambda: float(re.search(r"^cloche_forwarding (\S+)", cells[1].ask("GET", "/metrics", token=TOKENS[1])[2].decode(), re.M)[1])
            try:
                until(lambda: waiting() > 180, "many wait")
                self.assertEqual(cells.start_while_asked(2, lambda: cells[1].ask("GET", path, token=TOKENS[1])[0]), 404)
            finally:
                stop.set()
                for thread in many:
                    thread.join()

    def test_one_that_does_not_come_back_is_told_from_a_session_that_is_gone(self):
        with Cells(keys=(1, 2)) as cells:
            own, other = cells.create(1), cells.create(2)
            cells[2].process.kill()
            cells[2].process.wait()
            status, headers, _ = cells[1].ask("GET", f"/sessions/{other}", token=TOKENS[0])
            self.assertEqual((status, headers["X-Cloche-Cell"]), (503, "2"))
            status, headers, body = cells[1].ask("GET", "/sessions", token=TOKENS[0])
            self.assertEqual([s["sessionId"] for s in json.loads(body)["sessions"]], [own])
            self.assertEqual((status, headers["X-Cloche-Missing-Cells"]), (200, "2"))
            self.assertEqual(key_of(cells.create(1)), 1)

    def test_one_that_stands_still_is_not_waited_for_by_new_requests(self):
        with Cells(keys=(1, 2)) as cells:
            path = "/sessions/" + cells.create(2)
            cells[2].process.send_signal(signal.SIGSTOP)
            try:
                time.sleep(8)  # it has said nothing for longer than a cell has patience
                status, headers, _ = cells[1].ask("GET", path, token=TOKENS[0])
                self.assertEqual((status, headers["X-Cloche-Cell"]), (503, "2"))
            finally:
                cells[2].process.send_signal(signal.SIGCONT)
            until(lambda: cells[1].ask("GET", path, token=TOKENS[0])[0] == 200, "it goes on")


class Steps(unittest.TestCase):
    def test_steps_come_through(self):
        with Cells(keys=(1, 2), program="sbs run") as cells:
            session = cells[1].json("POST", "/sessions")[1]["session_id"]
            step = {"sandbox_id": session, "type": "bash", "payload": {"cmd": "echo x >> f; cat f"}}
            for key, wanted in [(1, "x\n"), (2, "x\nx\n")]:
                self.assertEqual(cells[key].json("POST", f"/sessions/{session}/step", step)[1]["output"], wanted)
            self.assertEqual(cells[2].ask("DELETE", f"/sessions/{session}")[0], 204)


class Words(unittest.TestCase):
    def test_what_makes_no_sense_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            secret = Path(folder, "secret")
            secret.write_text(SECRET)
            short = Path(folder, "short")
            short.write_text("short")
            peers, token = ["--peers", "127.0.0.1:1"], ["--peer-token-file", str(secret)]
            for words, sentence in [(peers, "belong together"), (token, "belong together"), (peers + token, "--cell-key"),
                                    (["--peers", "x"], "wants HOST:PORT"), (["--peer-token-file", str(short)], "16 characters")]:
                with self.assertRaisesRegex(RuntimeError, sentence):
                    Server("serve", *words)


if __name__ == "__main__":
    unittest.main()
