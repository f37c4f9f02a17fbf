# SPDX-License-Identifier: Apache-2.0
"""The official clients of the protocol against `cloche mcp`."""
import os
import subprocess
import unittest
from pathlib import Path

import clients
from test_http import Server

PROGRAM = os.environ["CLOCHE_PROGRAM"]
HERE = Path(__file__).parent


class Official(unittest.TestCase):
    def run_client(self, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, timeout=500)
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr[-5000:])

    def python(self, mode: str, *target: str) -> None:
        try:
            python = clients.python()
        except clients.Missing as why:
            self.skipTest(str(why))
        self.run_client(python, "-B", str(HERE / "python_client.py"), mode, *target)

    def node(self, *target: str) -> None:
        try:
            folder = clients.node()
        except clients.Missing as why:
            self.skipTest(str(why))
        self.run_client("node", str(HERE / "node_client.mjs"), str(folder), *target)


class Stdio(Official):
    def test_python_of_the_modern_era(self) -> None:
        self.python("auto", PROGRAM)

    def test_python_of_the_legacy_era(self) -> None:
        self.python("legacy", PROGRAM)

    def test_node(self) -> None:
        self.node(PROGRAM)


class Http(Official):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server("--token", "a-token")
        cls.addClassCleanup(cls.server.close)
        cls.target = (f"http://127.0.0.1:{cls.server.port}/mcp", "a-token")

    def test_python_of_the_modern_era(self) -> None:
        self.python("auto", *self.target)

    def test_python_of_the_legacy_era(self) -> None:
        self.python("legacy", *self.target)

    def test_node(self) -> None:
        self.node(*self.target)


if __name__ == "__main__":
    unittest.main()
