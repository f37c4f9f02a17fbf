# SPDX-License-Identifier: Apache-2.0
"""A server whose machine's time of day is set while it works: durations go on, and what is told is the new time."""
import datetime
import json
import os
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "http"))
from server import Server  # noqa: E402

KEY, HOUR_S, YEAR_S = "key", 3600, 366 * 24 * 3600


class ClockTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shift = cls.enterClassContext(tempfile.NamedTemporaryFile())
        cls.set_clock(0)
        cls.server = cls.enterClassContext(Server("serve", "--token", KEY, "--idle-timeout", "1h", env={
            "LD_PRELOAD": os.environ["CLOCHE_CLOCK_LIBRARY"], "CLOCHE_CLOCK_SHIFT": cls.shift.name}))

    def setUp(self):
        self.set_clock(0)

    @classmethod
    def set_clock(cls, shift_s: int):
        cls.shift.seek(0)
        cls.shift.write(struct.pack("<q", shift_s))
        cls.shift.flush()

    def box(self, method, path, body=None):
        status, _, content = self.server.ask(method, path, body, headers={"X-API-KEY": KEY})
        return status, json.loads(content) if content else None

    def seconds_left(self, box, shift_s):
        ends = datetime.datetime.fromisoformat(self.box("GET", f"/sandboxes/{box}")[1]["endAt"])
        return ends.timestamp() - datetime.datetime.now().timestamp() - shift_s

    def test_sessions_and_commands_live_by_what_passes(self):
        session = self.server.json("POST", "/sessions", {}, token=KEY)[1]["sessionId"]
        box = self.box("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600})[1]["sandboxID"]
        for shift_s in (YEAR_S, -YEAR_S, 50 * YEAR_S, -HOUR_S):
            self.set_clock(shift_s)
            status, done = self.server.json("POST", f"/sessions/{session}/commands", {
                "command": "timeout 0.1 sleep 60; echo $?; sleep 0.1; date +%Y", "timeout": 60}, token=KEY)
            year = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=shift_s)).year
            self.assertEqual((status, done["stdout"]), (200, f"124\n{year}\n"), shift_s)
            status, done = self.server.json("POST", f"/sessions/{session}/commands",
                                            {"command": "sleep 600", "timeout": 1}, token=KEY)
            self.assertEqual((status, done["status"]), (200, "timeout"), shift_s)
            self.assertEqual(self.box("GET", f"/sandboxes/{box}")[0], 200, shift_s)

    def test_a_sandbox_of_e2b_gets_the_time_that_is_asked_for(self):
        """Where the clock has been set back, the end that it was told of seems later than what is asked for."""
        for shift_s in (-HOUR_S, HOUR_S):
            self.set_clock(0)
            box = self.box("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 60})[1]["sandboxID"]
            self.set_clock(shift_s)
            self.assertIn(self.box("POST", f"/sandboxes/{box}/connect", {"timeout": 1200})[0], (200, 201))
            self.assertAlmostEqual(self.seconds_left(box, shift_s), 1200, delta=100)


if __name__ == "__main__":
    unittest.main()
