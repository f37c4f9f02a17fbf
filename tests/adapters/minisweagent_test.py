# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.minisweagent` with mini-swe-agent's own agent."""
import unittest

from packages import python_with, run_program
from server import Server

VERSIONS = "mini-swe-agent==2.4.6"


class MiniSweAgent(unittest.TestCase):
    def test_its_agent(self):
        python = python_with(VERSIONS, since=(3, 10))
        run_program(python, "minisweagent_program.py", MSWEA_SILENT_STARTUP="1")
        with Server("serve", "--token", "secret") as server:
            run_program(python, "minisweagent_program.py", MSWEA_SILENT_STARTUP="1", SERVER_URL=server.url,
                        SERVER_TOKEN="secret")


if __name__ == "__main__":
    unittest.main()
