# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.harbor` with Harbor's own oracle agent and verifier."""
import unittest

from packages import python_with, run_here_and_remotely

VERSIONS = "harbor==0.26.0"


class Harbor(unittest.TestCase):
    def test_its_trials(self):
        run_here_and_remotely(python_with(VERSIONS, since=(3, 12)), "harbor_program.py")


if __name__ == "__main__":
    unittest.main()
