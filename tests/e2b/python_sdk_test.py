# SPDX-License-Identifier: Apache-2.0
"""The Python clients of E2B run programs that know nothing of Cloche."""
import sys
import unittest
from pathlib import Path

from clients import Clients, run

# compatibility.md has them too.
VERSIONS = ["e2b==2.63.0", "e2b-code-interpreter==2.11.5"]


class PythonClients(Clients):
    @classmethod
    def install(cls):
        made = run([sys.executable, "-m", "venv", str(cls.folder / "venv")])
        if made.returncode != 0:
            return made.stderr
        cls.python = str(cls.folder / "venv/bin/python")
        done = run([cls.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *VERSIONS])
        return done.stderr if done.returncode != 0 else ""

    def test_a_program_for_sandboxes_runs(self):
        self.assertEqual(self.check([self.python, str(Path(__file__).parent / "python_program.py")]), "done\n")

    def test_a_program_that_builds_templates_runs(self):
        self.assertEqual(self.check([self.python, str(Path(__file__).parent / "template_program.py")]), "done\n")

    def test_a_program_for_the_code_interpreter_runs(self):
        self.assertEqual(self.check([self.python, str(Path(__file__).parent / "code_interpreter_program.py")]), "done\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
