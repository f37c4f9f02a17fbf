# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.swerex` with SWE-ReX's own requests and errors."""
import unittest

from packages import python_with, run_program
from server import Server

VERSIONS = "swe-rex==1.4.0"


class SweRex(unittest.TestCase):
    def test_a_deployment(self):
        python = python_with(VERSIONS, since=(3, 10))
        run_program(python, "swerex_program.py")
        with Server("serve", "--token", "secret") as server:
            run_program(python, "swerex_program.py", SERVER_URL=server.url, SERVER_TOKEN="secret")


if __name__ == "__main__":
    unittest.main()
