# SPDX-License-Identifier: Apache-2.0
"""`cloche.adapters.tinker_cookbook` with tinker-cookbook's interface."""
import unittest

from packages import python_with, run_here_and_remotely

# Without what trains: the interface wants its own errors alone.
VERSIONS = ("chz==0.4.0 aiohttp==3.14.5", "--no-deps tinker-cookbook==0.6.1")


class TinkerCookbook(unittest.TestCase):
    def test_the_interface(self):
        run_here_and_remotely(python_with(*VERSIONS, since=(3, 11)), "tinker_cookbook_program.py")


if __name__ == "__main__":
    unittest.main()
