# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.smolagents` with smolagents' own code agent."""
import unittest

from packages import python_with, run_program
from server import Server

VERSIONS = "smolagents==1.26.0"


class Smolagents(unittest.TestCase):
    def test_its_agent(self):
        python = python_with(VERSIONS, since=(3, 10))
        run_program(python, "smolagents_program.py")
        with Server("serve", "--token", "secret") as server:
            run_program(python, "smolagents_program.py", SERVER_URL=server.url, SERVER_TOKEN="secret")


if __name__ == "__main__":
    unittest.main()
