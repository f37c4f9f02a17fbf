# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.google_adk` with ADK's own tools, and an agent whose model is scripted."""
import unittest

from packages import python_with, run_here_and_remotely

VERSIONS = "google-adk==2.13.0"


class GoogleAdk(unittest.TestCase):
    def test_its_tools(self):
        run_here_and_remotely(python_with(VERSIONS, since=(3, 10)), "google_adk_program.py")


if __name__ == "__main__":
    unittest.main()
