# SPDX-License-Identifier: Apache-2.0
"""CI builds with nothing that was built before: .ci/run, with a `make` of our own that looks at what it is given.

    ci_run_test.py SOURCE
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()

MAKE = """#!/usr/bin/env python3
import json, os, pathlib, sys
def files(folder):
    return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if p.is_file())
cache = pathlib.Path(os.environ["XDG_CACHE_HOME"])
sources = cache / "cloche" / "userland" / "sources"
kept, before = files(sources), files(cache)
(sources / "archive").write_text("downloaded")
(cache / "built").write_text("built")
(pathlib.Path(os.environ["HOME"]) / "built").write_text("built")
json.dump({"words": sys.argv[1:], "folder": os.getcwd(), "home": os.environ["HOME"], "cache": before,
           "kept": kept, "build": os.path.exists("build"), "commit": os.path.exists("Makefile"),
           "ccache": os.environ.get("CCACHE_DIR"), "cloche_cache": os.environ.get("CLOCHE_CACHE")},
          open(os.environ["SEEN"], "w"))
print("100% tests passed")
sys.exit(int(os.environ.get("STATUS", "0")))
"""


class CiRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("bin", "home/.cache/cloche", "tmp"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "home/.cache/cloche/port").write_text("built long ago")
        make = self.folder / "bin" / "make"
        make.write_text(MAKE)
        make.chmod(0o755)

    def run_ci(self, **more):
        seen = self.folder / "seen.json"
        seen.unlink(missing_ok=True)
        environment = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": f"{self.folder}/home", "TMPDIR": f"{self.folder}/tmp",
            "SEEN": str(seen), "CCACHE_DIR": f"{self.folder}/home/ccache", "CLOCHE_CACHE": f"{self.folder}/home/.cache/cloche",
            # The tree may be another user's.
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", **more,
        }
        done = subprocess.run([SOURCE / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False)
        return done, json.loads(seen.read_text())

    def test_builds_the_commit_in_a_clone_with_empty_home_and_cache(self):
        done, seen = self.run_ci()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(seen["words"], ["test"])
        self.assertTrue(seen["commit"])
        self.assertFalse(seen["build"])
        self.assertNotEqual(pathlib.Path(seen["folder"]), SOURCE)
        self.assertNotEqual(seen["home"], f"{self.folder}/home")
        self.assertEqual(seen["cache"], [])
        self.assertIsNone(seen["ccache"])
        self.assertIsNone(seen["cloche_cache"])

    def test_keeps_what_was_downloaded_and_nothing_that_was_built(self):
        _, first = self.run_ci()
        _, second = self.run_ci()
        self.assertEqual(first["kept"], [])
        self.assertEqual(second["kept"], ["archive"])
        self.assertEqual(second["cache"], [])
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_ends_as_make_test_ends(self):
        done, _ = self.run_ci(STATUS="3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout.splitlines()[-1], "100% tests passed")
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
