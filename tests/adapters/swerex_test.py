# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.swerex` with SWE-ReX's own requests and errors."""
import unittest

from packages import python_with, run_here_and_remotely

VERSIONS = "swe-rex==1.4.0"


class SweRex(unittest.TestCase):
    def test_a_deployment(self):
        run_here_and_remotely(python_with(VERSIONS, since=(3, 10)), "swerex_program.py")


if __name__ == "__main__":
    unittest.main()
