# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.nemo_gym` with NeMo Gym's own sandbox."""
import unittest

from packages import python_with, run_program
from server import Server

VERSIONS = "nemo-gym==0.4.0"


class NemoGym(unittest.TestCase):
    def test_its_sandbox(self):
        python = python_with(VERSIONS, since=(3, 12))
        run_program(python, "nemo_gym_program.py")
        with Server("serve", "--token", "secret") as server:
            run_program(python, "nemo_gym_program.py", SERVER_URL=server.url, SERVER_TOKEN="secret")


if __name__ == "__main__":
    unittest.main()
