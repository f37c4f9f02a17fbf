# SPDX-License-Identifier: Apache-2.0
"""What many do with a session at the same time: nothing that was answered is lost, nothing is half of each."""
import hashlib
import json
import random
import threading
import time
import unittest
from http.client import HTTPException

from linux_image import IMAGE, LinuxImages
from server import Server
from websocket import Rpc, WireError

SECONDS = 4
OCTETS = {"Content-Type": "application/octet-stream"}
CONTENT_BYTES = 200_000
LARGE_BYTES = 64 << 20  # more than sockets take at once


def content_of(writer: int, number: int) -> bytes:
    return (f"{writer}:{number};".encode() * CONTENT_BYTES)[:CONTENT_BYTES]


class Together(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", "--rate-limit", "1000000000")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def session(self) -> str:
        return "/sessions/" + self.server.json("POST", "/sessions")[1]["sessionId"]

    def number_in(self, path: str, writer: int) -> int:
        """Of the content there, which must be a whole one."""
        status, _, content = self.server.ask("GET", f"{path}/files?filePath=f{writer}")
        self.assertEqual(status, 200)
        number = int(content.partition(b";")[0].partition(b":")[2])
        self.assertEqual(content, content_of(writer, number))
        return number

    def test_its_python_is_killed_forked_paused_and_deleted(self):
        """Any of it at any moment of the other: all is answered, and the server is there."""
        paths, wrong, over = [self.session(), self.session()], [], threading.Event()

        def command(path: str, text: str) -> None:
            status, answer = self.server.json("POST", path + "/commands", {"command": text, "timeout": 5})
            if status not in (200, 404, 409):
                wrong.append((status, answer))

        def rpc(path: str, method: str, **params) -> None:
            with Rpc(self.server.port) as own:
                try:
                    own.call("create", sessionId=path.rpartition("/")[2])
                    answer = own.call(method, **params)
                except WireError:
                    return  # it is paused, or gone, or busy
            for made in answer.get("sessions", []):
                self.server.ask("DELETE", f"/sessions/{made['sessionId']}")

        def delete(path: str) -> None:
            self.server.ask("DELETE", path)
            paths[paths.index(path) if path in paths else 0] = self.session()

        def act(number: int) -> None:
            draw = random.Random(number)
            try:
                while not over.is_set():
                    path = draw.choice(paths)
                    draw.choice([
                        lambda: command(path, "for i in $(seq 20); do pkill -9 python; done"),
                        lambda: command(path, "kill -9 -1"),
                        lambda: rpc(path, "python.execute", code="x = [0] * 100_000"),
                        lambda: rpc(path, "session.fork", sessionId=path.rpartition("/")[2], count=1),
                        lambda: self.server.ask("POST", path + draw.choice(["/pause", "/resume"])),
                        lambda: draw.random() < 0.3 and delete(path)])()
            except (OSError, HTTPException) as error:
                wrong.append(repr(error))

        clients = [threading.Thread(target=act, args=(number,)) for number in range(8)]
        for client in clients:
            client.start()
        over.wait(SECONDS)
        over.set()
        for client in clients:
            client.join()
        self.assertEqual(wrong, [])

    def test_uploads_while_it_is_paused_and_forked(self):
        path = self.session()
        done, wrong, over = {}, [], threading.Event()

        def write(writer: int) -> None:
            connection = self.server.connection()
            number = 0
            while not over.is_set():
                number += 1
                status, _, body = self.server.ask("POST", f"{path}/files?path=f{writer}&overwrite=true", content_of(writer, number),
                                                  headers=OCTETS, connection=connection)
                if status == 201:
                    done[writer] = number
                elif status != 409 or json.loads(body)["error"] != "INVALID_STATE":
                    wrong.append((status, body))

        writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
        for writer in writers:
            writer.start()
        with Rpc(self.server.port) as rpc:
            end = time.monotonic() + SECONDS
            turns = 0
            while time.monotonic() < end:
                turns += 1
                if len(done) < len(writers):
                    continue
                before = dict(done)
                [fork] = rpc.call("session.fork", sessionId=path.rpartition("/")[2])["sessions"]
                for writer, number in before.items():
                    self.assertGreaterEqual(self.number_in("/sessions/" + fork["sessionId"], writer), number)
                rpc.call("session.delete", sessionId=fork["sessionId"])
                self.assertEqual(self.server.ask("POST", path + "/pause")[0], 200)
                before = dict(done)
                self.assertEqual(self.server.ask("POST", path + "/resume")[0], 200)
                for writer, number in before.items():
                    self.assertGreaterEqual(self.number_in(path, writer), number)
        over.set()
        for writer in writers:
            writer.join()
        self.assertEqual(wrong, [])
        self.assertGreater(turns, 1)

    def test_a_download_is_the_file_at_its_begin(self):
        path = self.session()
        was = (b"before;" * LARGE_BYTES)[:LARGE_BYTES]
        for change in ("tr b B <large >other; cat other >large", "truncate -s 5 large", "rm large"):
            with self.subTest(change):
                self.assertEqual(self.server.ask("POST", f"{path}/files?path=large&overwrite=true", was, headers=OCTETS)[0], 201)
                connection = self.server.connection()
                connection.request("GET", f"{path}/files?filePath=large")
                answer = connection.getresponse()
                begin = answer.read(1000)
                status, told = self.server.json("POST", f"{path}/commands", {"command": change})
                self.assertEqual((status, told["exitCode"]), (200, 0))
                self.assertEqual(hashlib.sha256(begin + answer.read()).digest(), hashlib.sha256(was).digest())
                connection.close()

    def test_one_of_many_makes_a_file(self):
        path = self.session()
        for turn in range(40):
            # All but the last byte, so that all of them are there at once.
            waiting = []
            for writer in range(6):
                connection = self.server.connection()
                content = content_of(writer, turn)
                connection.putrequest("POST", f"{path}/files?path=new{turn}")
                connection.putheader("Content-Length", str(len(content)))
                connection.putheader("Content-Type", OCTETS["Content-Type"])
                connection.endheaders(content[:-1])
                waiting.append((connection, content))
            for connection, content in waiting:
                connection.send(content[-1:])
            answers = [connection.getresponse() for connection, _ in waiting]
            statuses = [answer.status for answer in answers]
            for answer, (connection, _) in zip(answers, waiting):
                answer.read()
                connection.close()
            self.assertEqual(sorted(statuses), [201] + [409] * 5)
            self.assertEqual(self.server.ask("GET", f"{path}/files?filePath=new{turn}")[2], waiting[statuses.index(201)][1])


class Boxes(unittest.TestCase):
    """Sessions of the linux engine."""

    def setUp(self):
        self.images = LinuxImages()
        self.addCleanup(self.images.folder.cleanup)
        if self.images.problem:
            self.skipTest(self.images.problem)
        self.server = Server("serve", "--rate-limit", "1000000000", "--allow-session-engine", "linux", "--allow-session-image", IMAGE,
                             env=self.images.environment)
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0))

    def session(self) -> str:
        return "/sessions/" + self.server.json("POST", "/sessions", {"sandbox": {"engine": "linux", "image": IMAGE}})[1]["sessionId"]

    def test_files_go_up_and_down_while_the_session_goes(self):
        """A client hears that it is paused or gone, and nothing of the pipes between."""
        path, wrong, over, content = [self.session()], [], threading.Event(), b"x" * CONTENT_BYTES

        def transfer(is_up: bool):
            try:
                while not over.is_set():
                    if is_up:
                        status, _, answer = self.server.ask("POST", path[0] + "/files?path=f&overwrite=true", content, headers=OCTETS)
                    else:
                        status, _, answer = self.server.ask("GET", path[0] + "/files?filePath=f")
                    if status not in (200, 201, 404, 409):
                        wrong.append((status, answer[-200:]))
            except (OSError, HTTPException) as error:
                wrong.append(repr(error))

        clients = [threading.Thread(target=transfer, args=(number % 2 == 0,)) for number in range(8)]
        for client in clients:
            client.start()
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            self.assertEqual(self.server.ask("POST", path[0] + "/pause")[0], 200)
            self.assertEqual(self.server.ask("POST", path[0] + "/resume")[0], 200)
            new = self.session()
            self.assertEqual(self.server.ask("DELETE", path[0])[0], 200)
            path[0] = new
        over.set()
        for client in clients:
            client.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
