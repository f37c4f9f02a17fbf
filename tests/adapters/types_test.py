# SPDX-License-Identifier: Apache-2.0
"""The types of the package `cloche`, by mypy --strict and by pyright."""
import subprocess
import unittest

from packages import SOURCE, python_with


class Types(unittest.TestCase):
    def check(self, *command: str) -> None:
        done = subprocess.run(command, cwd=SOURCE / "sdk/python", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])

    def test_mypy(self):
        self.check(python_with("mypy==1.17.1"), "-m", "mypy", "--cache-dir=/dev/null", "src/cloche")

    def test_pyright(self):
        self.check(python_with("pyright==1.1.405"), "-m", "pyright", "-p", ".")


if __name__ == "__main__":
    unittest.main()
