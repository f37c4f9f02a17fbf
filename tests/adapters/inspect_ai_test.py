# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.inspect_ai` with Inspect itself: its own checks of sandboxes, and a task."""
import unittest

from packages import python_with, run_checks
from server import Server

VERSIONS = "inspect_ai==0.3.285 pytest==8.4.2 pytest-asyncio==1.2.0"


class Inspect(unittest.TestCase):
    def run_checks(self, **environment: str) -> None:
        python = python_with(VERSIONS, since=(3, 10))
        said = run_checks(python, "inspect_ai_checks.py", **environment)
        self.assertIn("46 passed, 1 xfailed", said)  # 43 of its checks, and the three below them

    def test_its_own_checks_and_a_task(self):
        self.run_checks()

    def test_the_same_on_a_server(self):
        with Server("serve", "--token", "secret") as server:
            self.run_checks(CLOCHE_URL=server.url, CLOCHE_TOKEN="secret")


if __name__ == "__main__":
    unittest.main()
