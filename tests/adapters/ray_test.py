# SPDX-License-Identifier: Apache-2.0
"""`cloche.ray` on a Ray cluster of four nodes, which are processes of this machine in a network of their own.

RAY_ROLLOUTS says how many (5000).
"""
import os
import shutil
import subprocess
import unittest

from packages import python_with, run_program

VERSIONS = "ray==2.60.0"


class Ray(unittest.TestCase):
    def test_rollouts_while_nodes_and_drivers_are_lost(self):
        # Ray listens at all addresses, and its processes outlive who has started them: so both end here.
        alone = [shutil.which("unshare") or "unshare", *(["--map-root-user"] if os.geteuid() else []), "--net", "--pid",
                 "--mount-proc", "--fork", "--kill-child"]
        if subprocess.run([*alone, "true"], capture_output=True).returncode:
            self.skipTest("there are no namespaces of the network and of processes to be had")
        print(run_program(python_with(VERSIONS, since=(3, 10)), "ray_program.py", inside=alone))


if __name__ == "__main__":
    unittest.main()
