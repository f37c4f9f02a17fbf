# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.deepagents` with LangChain's standard tests of sandboxes."""
import os
import subprocess
import unittest
from pathlib import Path

from packages import SOURCE, python_with
from server import PATIENCE_S, Server

VERSIONS = "deepagents==0.7.32 langchain-tests==1.1.9"


class Deepagents(unittest.TestCase):
    def run_checks(self, **environment: str) -> None:
        python = python_with(VERSIONS, since=(3, 11))
        done = subprocess.run(
            [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "-rfEX",
             str(Path(__file__).with_name("deepagents_checks.py"))],
            capture_output=True, text=True, timeout=PATIENCE_S * 2,
            env={**os.environ, "PYTHONPATH": str(SOURCE / "sdk/python/src"), **environment})
        self.assertEqual(done.returncode, 0, done.stdout[-8000:] + done.stderr[-2000:])
        self.assertIn("80 passed, 7 xfailed", done.stdout)

    def test_the_standard_tests(self):
        self.run_checks()

    def test_the_same_on_a_server(self):
        with Server("serve", "--token", "secret") as server:
            self.run_checks(SERVER_URL=server.url, SERVER_TOKEN="secret")


if __name__ == "__main__":
    unittest.main()
