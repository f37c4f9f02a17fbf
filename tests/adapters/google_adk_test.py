# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.google_adk` with ADK's own tools, and an agent whose model is scripted."""
import unittest

from packages import python_with, run_program
from server import Server

VERSIONS = "google-adk==2.13.0"


class GoogleAdk(unittest.TestCase):
    def test_its_tools(self):
        python = python_with(VERSIONS, since=(3, 10))
        run_program(python, "google_adk_program.py")
        with Server("serve", "--token", "secret") as server:
            run_program(python, "google_adk_program.py", SERVER_URL=server.url, SERVER_TOKEN="secret")


if __name__ == "__main__":
    unittest.main()
