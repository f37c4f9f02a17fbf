# SPDX-License-Identifier: Apache-2.0
"""The JavaScript client of E2B runs javascript_program.mjs."""
import shutil
import unittest
from pathlib import Path

from clients import Clients, run

VERSIONS = ["e2b@2.51.0"]
OLDEST_NODE = 20


class JavaScriptClient(Clients):
    @classmethod
    def install(cls):
        if not shutil.which("npm"):
            return "there is no npm on this machine"
        version = run(["node", "--version"]).stdout.strip()  # as v20.1.0
        if int(version.lstrip("v").partition(".")[0]) < OLDEST_NODE:
            return f"this client wants Node {OLDEST_NODE}, here is {version}"
        (cls.folder / "package.json").write_text('{"private": true}')
        done = run(["npm", "install", "--silent", "--no-audit", "--no-fund", *VERSIONS], cwd=cls.folder)
        shutil.copy(Path(__file__).parent / "javascript_program.mjs", cls.folder / "program.mjs")
        return done.stderr + done.stdout if done.returncode != 0 else ""

    def test_a_program_for_e2b_runs(self):
        self.check(["node", "program.mjs"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
