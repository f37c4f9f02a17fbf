# SPDX-License-Identifier: Apache-2.0
"""`POST /run_code` with SandboxFusion's own client, and with verl's, unmodified."""
import unittest

from packages import python_with, run_program
from server import Server

CLIENTS = ("sandbox-fusion==0.3.7 requests==2.32.5", "--no-deps verl==0.9.1")


class SandboxFusion(unittest.TestCase):
    def test_its_clients(self):
        python = python_with(*CLIENTS)
        with Server("serve", "--token", "secret") as server:
            url = f"http://_:secret@127.0.0.1:{server.port}"
            self.assertIn("64 of 64 cases", run_program(python, "sandbox_fusion_program.py", SERVER_URL=url))


if __name__ == "__main__":
    unittest.main()
