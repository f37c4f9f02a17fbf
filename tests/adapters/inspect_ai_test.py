# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.inspect_ai` with Inspect itself: its own checks of sandboxes, and a task."""
import os
import subprocess
import unittest
from pathlib import Path

from packages import SOURCE, python_with
from server import PATIENCE_S, Server

VERSIONS = "inspect_ai==0.3.285 pytest==8.4.2 pytest-asyncio==1.2.0"


class Inspect(unittest.TestCase):
    def run_checks(self, **environment: str) -> None:
        python = python_with(VERSIONS, since=(3, 10))
        done = subprocess.run(
            [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "-rfEX",
             str(Path(__file__).with_name("inspect_ai_checks.py"))],
            capture_output=True, text=True, timeout=PATIENCE_S * 2,
            env={**os.environ, "PYTHONPATH": str(SOURCE / "sdk/python/src"), **environment})
        self.assertEqual(done.returncode, 0, done.stdout[-8000:] + done.stderr[-2000:])
        self.assertIn("44 passed, 1 xfailed", done.stdout)  # 43 of its checks, and the task

    def test_its_own_checks_and_a_task(self):
        self.run_checks()

    def test_the_same_on_a_server(self):
        with Server("serve", "--token", "secret") as server:
            self.run_checks(CLOCHE_URL=server.url, CLOCHE_TOKEN="secret")


if __name__ == "__main__":
    unittest.main()
