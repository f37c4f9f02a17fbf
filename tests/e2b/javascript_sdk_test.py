# SPDX-License-Identifier: Apache-2.0
"""The JavaScript clients of E2B run programs that know nothing of Cloche."""
import shutil
import unittest
from pathlib import Path

from clients import Clients, run

# compatibility.md has them too.
VERSIONS = ["e2b@2.51.0", "@e2b/code-interpreter@2.8.0"]
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
        for name in ("javascript_program.mjs", "javascript_code_program.mjs"):
            shutil.copy(Path(__file__).parent / name, cls.folder)
        return done.stderr + done.stdout if done.returncode != 0 else ""

    def test_a_program_for_e2b_runs(self):
        self.check(["node", "javascript_program.mjs"])

    def test_a_program_for_the_code_interpreter_runs(self):
        self.check(["node", "javascript_code_program.mjs"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
