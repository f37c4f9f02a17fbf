# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.smolagents` with smolagents' own code agent."""
import unittest

from packages import python_with, run_here_and_remotely

VERSIONS = "smolagents==1.26.0"


class Smolagents(unittest.TestCase):
    def test_its_agent(self):
        run_here_and_remotely(python_with(VERSIONS, since=(3, 10)), "smolagents_program.py")


if __name__ == "__main__":
    unittest.main()
