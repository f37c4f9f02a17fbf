# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.deepagents` with LangChain's standard tests of sandboxes."""
import unittest

from packages import python_with, run_checks
from server import Server

VERSIONS = "deepagents==0.7.32 langchain-tests==1.1.9"


class Deepagents(unittest.TestCase):
    def run_checks(self, **environment: str) -> None:
        python = python_with(VERSIONS, since=(3, 11))
        said = run_checks(python, "deepagents_checks.py", **environment)
        self.assertIn("80 passed, 7 xfailed", said)

    def test_the_standard_tests(self):
        self.run_checks()

    def test_the_same_on_a_server(self):
        with Server("serve", "--token", "secret") as server:
            self.run_checks(SERVER_URL=server.url, SERVER_TOKEN="secret")


if __name__ == "__main__":
    unittest.main()
