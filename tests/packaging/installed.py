# SPDX-License-Identifier: Apache-2.0
"""An installation in a folder of its own, for tests."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["CLOCHE_BUILD"])
SOURCE = Path(__file__).resolve().parent.parent.parent
VERSION = (SOURCE / "VERSION").read_text().strip()


def run(*command: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


def clean_environment(**more: str) -> dict:
    """Nothing that leads to the source tree; the cache of compiled programs is the user's."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_CACHE_HOME", "CLOCHE_CACHE", "CXX", "CCACHE_DIR")
            if name in os.environ}
    return {**kept, **more}


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cloche-installed-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.stage = cls.folder / "stage"
        done = run("cmake", "--install", BUILD, "--prefix", "/opt/cloche", "--strip",
                   env={**os.environ, "DESTDIR": str(cls.stage), "CLOCHE_CODE": "none"})
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        # Found where it lies: nothing has the prefix in it.
        cls.prefix = cls.folder / "moved"
        (cls.stage / "opt/cloche").rename(cls.prefix)

    def must(self, *command: object, **options) -> str:
        options.setdefault("env", clean_environment())
        done = run(*command, **options)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout
