# SPDX-License-Identifier: Apache-2.0
"""The Python client of E2B runs python_program.py."""
import sys
import unittest
from pathlib import Path

from clients import Clients, run

VERSIONS = ["e2b==2.63.0"]


class PythonClient(Clients):
    @classmethod
    def install(cls):
        made = run([sys.executable, "-m", "venv", str(cls.folder / "venv")])
        if made.returncode != 0:
            return made.stderr
        cls.python = str(cls.folder / "venv/bin/python")
        done = run([cls.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *VERSIONS])
        return done.stderr if done.returncode != 0 else ""

    def test_a_program_for_e2b_runs(self):
        self.check([self.python, str(Path(__file__).parent / "python_program.py")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
