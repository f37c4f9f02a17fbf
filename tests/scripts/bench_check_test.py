# SPDX-License-Identifier: Apache-2.0
"""bench/check.py tells a slower program from one that is as fast, with programs that only answer.

    bench_check_test.py SOURCE
"""
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
PROGRAM = """#!/usr/bin/env python3
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    end = time.process_time() + {seconds}
    while time.process_time() < end:
        pass
    answer = {{"jsonrpc": "2.0", "id": request["id"], "result": {{"sandboxId": "s1"}}}}
    if {fails} and request["method"] == "run":
        answer = {{"jsonrpc": "2.0", "id": request["id"], "error": {{"code": 1, "message": "EIO: broken"}}}}
    print(json.dumps(answer), flush=True)
"""


class BenchCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, seconds: float, fails: bool = False) -> str:
        path = self.folder / f"program-{seconds}-{fails}"
        path.write_text(PROGRAM.format(seconds=seconds, fails=fails))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def check(self, before: str, now: str):
        return subprocess.run([sys.executable, "-B", SOURCE / "bench/check.py", before, now, "--rounds", "6"],
                              capture_output=True, text=True, timeout=120)

    def test_a_slower_program_is_named(self):
        done = self.check(self.program(0.0001), self.program(0.0004))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("slower beyond noise: sandbox + echo", done.stderr)

    def test_a_faster_one_is_not(self):
        done = self.check(self.program(0.0004), self.program(0.0001))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("SLOWER", done.stdout)

    def test_a_program_that_fails_is_told(self):
        done = self.check(self.program(0.0001), self.program(0.0001, fails=True))
        self.assertNotIn(done.returncode, (0,), done.stdout)
        self.assertIn("EIO: broken", done.stderr)


if __name__ == "__main__":
    unittest.main()
