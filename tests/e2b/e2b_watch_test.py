# SPDX-License-Identifier: Apache-2.0
"""Folders that clients of E2B watch, asked by hand."""
import json
import re
import struct
import threading
import unittest
from pathlib import Path

from e2b_wire_test import SANITIZED, Box, Server, WithServer, framed


class Stream:
    """A WatchDir that is read message by message."""

    def __init__(self, box, path, headers=None, **wish):
        self.connection = box.server.connection()
        self.connection.request("POST", "/filesystem.Filesystem/WatchDir", framed({"path": path, **wish}), {
            **box.headers(), "Content-Type": "application/connect+json", **(headers or {})})
        self.answer = self.connection.getresponse()

    def close(self):
        self.answer.close()
        self.connection.close()

    def next(self):
        """(flags, message); None at the end."""
        head = self.answer.read(5)
        if not head:
            return None
        flags, size = struct.unpack(">BI", head)
        return flags, json.loads(self.answer.read(size))

    def until(self, name, kind):
        """All events up to that one, as (name, type)."""
        found = []
        while not found or found[-1] != (name, kind):
            event = self.next()[1]["filesystem"]
            found.append((event["name"], event["type"].removeprefix("EVENT_TYPE_")))
        return found


class Watching(WithServer):
    def setUp(self):
        self.box = Box(self.server)
        self.addCleanup(self.box.rest, "DELETE")
        self.box.run("mkdir d")

    def stream(self, *what, **wish):
        stream = Stream(self.box, *what, **wish)
        self.addCleanup(stream.close)
        return stream

    def call(self, method, **message):
        return self.box.call("filesystem.Filesystem/" + method, message)

    def watcher(self, path="d", **wish):
        status, made = self.call("CreateWatcher", path=path, **wish)
        self.assertEqual(status, 200, made)
        return made["watcherId"]

    def events(self, watcher):
        status, answer = self.call("GetWatcherEvents", watcherId=watcher)
        self.assertEqual(status, 200, answer)
        return [(each["name"], each["type"].removeprefix("EVENT_TYPE_")) for each in answer.get("events", [])]

    def test_a_stream_tells_of_changes_as_they_come(self):
        stream = self.stream("d", recursive=True)
        self.assertEqual(stream.next(), (0, {"start": {}}))
        self.box.run("cd d; mkdir new; echo a > new/f")
        self.assertEqual(stream.until("new/f", "WRITE"), [("new", "CREATE"), ("new/f", "CREATE"), ("new/f", "WRITE")])
        self.box.run("cd d; chmod 600 new/f; mv new/f g; rm g")
        self.assertEqual(stream.until("g", "REMOVE"),
                         [("new/f", "CHMOD"), ("new/f", "RENAME"), ("g", "CREATE"), ("g", "REMOVE")])
        self.box.agent("POST", "/files?path=d/by/hand", b"text", **{"Content-Type": "application/octet-stream"})
        self.assertIn(("by/hand", "WRITE"), stream.until("by/hand", "WRITE"))

    def test_a_file_that_a_client_writes(self):
        octets = {"Content-Type": "application/octet-stream"}
        watcher = self.watcher()
        self.box.agent("POST", "/files?path=d/f", b"text", **octets)
        self.assertEqual(self.events(watcher), [("f", "CREATE"), ("f", "CHMOD"), ("f", "WRITE")])
        self.box.agent("POST", "/files?path=d/f", b"other text", **octets)
        self.assertEqual({*self.events(watcher)}, {("f", "WRITE")})

    def test_a_stream_ends_with_its_folder_its_time_and_its_sandbox(self):
        gone = self.stream("d")
        self.assertEqual(gone.next(), (0, {"start": {}}))
        self.box.run("rmdir d")
        self.assertEqual(gone.next(), (0, {"filesystem": {"name": ".", "type": "EVENT_TYPE_REMOVE"}}))
        self.assertEqual((gone.next(), gone.next()), ((2, {}), None))
        short = self.stream("/tmp", headers={"Connect-Timeout-Ms": "300"})
        self.assertEqual(short.next(), (0, {"start": {}}))
        self.assertEqual(short.next()[1]["error"]["code"], "deadline_exceeded")
        quiet = self.stream("/tmp", headers={"Keepalive-Ping-Interval": "1"})
        self.assertEqual((quiet.next(), quiet.next()), ((0, {"start": {}}), (0, {"keepalive": {}})))
        paused = self.stream("/tmp")
        paused.next()
        self.assertEqual(self.box.rest("POST", "/pause", {})[0], 204)
        for stream in (quiet, paused):
            last = stream.next()
            while last == (0, {"keepalive": {}}):
                last = stream.next()
            self.assertEqual(last, (2, {"error": {"code": "unavailable", "message": "The sandbox was not found"}}))

    def test_who_asks_finds_what_has_come_meanwhile(self):
        watcher = self.watcher(includeEntry=True)
        self.assertEqual(self.events(watcher), [])
        self.box.run("cd d; echo a > f; mkdir sub; echo b > sub/g")
        status, answer = self.call("GetWatcherEvents", watcherId=watcher)
        events = answer["events"]
        self.assertEqual([(each["name"], each["type"]) for each in events],
                         [("f", "EVENT_TYPE_CREATE"), ("f", "EVENT_TYPE_WRITE"), ("sub", "EVENT_TYPE_CREATE")])
        self.assertEqual((events[1]["entry"]["path"], events[1]["entry"]["size"]), ("/home/user/d/f", "2"))
        self.box.run("cd d; : > $'\\xff'")
        self.assertEqual(len(self.events(watcher)) > 0, True)
        self.assertEqual(self.call("RemoveWatcher", watcherId=watcher), (200, {}))
        for method in ("GetWatcherEvents", "RemoveWatcher"):
            self.assertEqual((self.call(method, watcherId=watcher)[0], self.call(method, watcherId=watcher)[1]["code"]),
                             (404, "not_found"))

    def test_a_pause_keeps_who_asks_where_it_keeps_processes(self):
        watcher = self.watcher()
        self.assertEqual(self.box.rest("POST", "/pause", {})[0], 204)
        self.assertEqual(self.box.rest("POST", "/connect", {"timeout": 300})[0], 201)
        self.box.run("touch d/f")
        self.assertIn(("f", "CREATE"), self.events(watcher))
        _, forks = self.box.rest("POST", "/fork", {"timeout": 300})
        fork = forks[0]["sandbox"]
        status, _, body = self.server.ask(
            "POST", "/filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher},
            headers={"E2b-Sandbox-Id": fork["sandboxID"], "E2b-Sandbox-Port": "49983",
                     "X-Access-Token": fork["envdAccessToken"]})
        self.assertEqual((status, json.loads(body)["code"]), (404, "not_found"))
        self.assertEqual(self.box.rest("POST", "/pause", {"memory": False})[0], 204)
        self.assertEqual(self.box.rest("POST", "/connect", {"timeout": 300})[0], 201)
        self.assertEqual(self.call("GetWatcherEvents", watcherId=watcher)[0], 404)

    def test_a_flood_is_an_error_and_then_it_goes_on(self):
        watcher = self.watcher()
        self.box.run("cd d; long=$(printf %0200d 0); for i in $(seq 3000); do : > $long$i; done")
        status, answer = self.call("GetWatcherEvents", watcherId=watcher)
        self.assertEqual((status, answer["code"]), (429, "resource_exhausted"))
        self.assertEqual(self.events(watcher), [])
        self.box.run("touch d/after")
        self.assertIn(("after", "CREATE"), self.events(watcher))

    def test_what_cannot_be_watched(self):
        self.box.run("touch f; mkdir shut; chmod 000 shut")
        for path, status, code in [("no", 404, "not_found"), ("f", 400, "invalid_argument"),
                                   ("/proc", 501, "unimplemented"), ("shut", 403, "permission_denied")]:
            answer = self.call("CreateWatcher", path=path)
            self.assertEqual((answer[0], answer[1]["code"]), (status, code), path)
            flags, last = self.stream(path).next()
            self.assertEqual((flags, last["error"]["code"]), (2, code), path)
        watchers = [self.watcher() for _ in range(15)]
        stream = self.stream("d")
        self.assertEqual(stream.next(), (0, {"start": {}}))
        self.assertEqual(self.call("CreateWatcher", path="d")[1]["code"], "resource_exhausted")
        self.assertEqual(self.stream("d").next()[1]["error"]["code"], "resource_exhausted")
        self.call("RemoveWatcher", watcherId=watchers[0])
        self.watcher()
        # One whose client leaves makes room too.
        stream.close()
        while self.call("CreateWatcher", path="d")[0] != 200:
            pass


class Memory(unittest.TestCase):
    @unittest.skipIf(SANITIZED, "memory that is given back stays with the sanitizer")
    def test_many_changes_are_kept_as_text(self):
        """What 16 clients are told of 9000 changes takes a few MB for each: as values it would be 16 MB."""
        with Server("serve") as server:
            box = Box(server, key="any")
            ask = lambda method, **message: box.call("filesystem.Filesystem/" + method, message)
            peak_mb = lambda: int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())[1]) / 1024
            box.run("mkdir d; cd d; touch $(seq 9000)")
            watchers = [ask("CreateWatcher", path="d", includeEntry=True)[1]["watcherId"] for _ in range(16)]
            box.run("cd d; chmod 600 $(seq 9000)")
            before_mb, answers = peak_mb(), []
            calls = [threading.Thread(target=lambda name=name: answers.append(ask("GetWatcherEvents", watcherId=name))) for name in watchers]
            for call in calls:
                call.start()
            for call in calls:
                call.join()
            self.assertEqual([(status, len(answer["events"])) for status, answer in answers], [(200, 9000)] * 16)
            self.assertLess(peak_mb() - before_mb, 150)


if __name__ == "__main__":
    unittest.main(verbosity=2)
