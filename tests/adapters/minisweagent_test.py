# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.minisweagent` with mini-swe-agent's own agent."""
import unittest

from packages import python_with, run_here_and_remotely

VERSIONS = "mini-swe-agent==2.4.6"


class MiniSweAgent(unittest.TestCase):
    def test_its_agent(self):
        run_here_and_remotely(python_with(VERSIONS, since=(3, 10)), "minisweagent_program.py", MSWEA_SILENT_STARTUP="1")


if __name__ == "__main__":
    unittest.main()
