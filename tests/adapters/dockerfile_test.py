# SPDX-License-Identifier: Apache-2.0
"""Dockerfiles as adapters follow them."""
import unittest

from packages import python_with, run_checks

VERSIONS = "pytest==8.4.2"


class Dockerfiles(unittest.TestCase):
    def test_they_are_read_as_docker_reads_them(self):
        run_checks(python_with(VERSIONS), "dockerfile_checks.py")


if __name__ == "__main__":
    unittest.main()
