# SPDX-License-Identifier: Apache-2.0
"""E2B's own clients, unmodified, from the package indexes; skipped where those cannot be reached."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "http"))
from server import PATIENCE_S, Server  # noqa: E402


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, **options)


class Clients(unittest.TestCase):
    """A folder with the clients, and a server that they are pointed at by environment variables alone."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        problem = cls.install()
        if problem:
            raise unittest.SkipTest("the clients of E2B cannot be had from their index: " + problem[-300:])
        cls.server = Server("serve", "--token", "e2b_0123456789", "--allow-session-net", "*.example.com")
        cls.addClassCleanup(cls.server.stop)
        cls.environment = {**os.environ, "E2B_API_KEY": "e2b_0123456789", "E2B_API_URL": cls.server.url,
                           "E2B_SANDBOX_URL": cls.server.url}

    def check(self, command):
        done = run(command, cwd=self.folder, env=self.environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout
