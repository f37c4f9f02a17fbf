#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What searches have found, and how it reaches the next one."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOUND = ROOT / "fuzz" / "found"
TARGETS = sorted(path.stem for path in (ROOT / "fuzz").glob("*_fuzz.cc"))


def ran(*words):
    return subprocess.run([ROOT / "scripts" / "fuzz_found", *words], capture_output=True, text=True)


class FuzzFound(unittest.TestCase):
    def test_there_is_some_of_each_target_and_of_no_other(self):
        self.assertEqual(sorted(path.stem for path in FOUND.glob("*.base64")), TARGETS)
        searched = dict(line.split() for line in (FOUND / "searched").read_text().splitlines())
        self.assertEqual(sorted(searched), TARGETS)
        self.assertGreater(min(map(int, searched.values())), 0)

    def test_all_of_it_is_unpacked_for_a_search(self):
        with tempfile.TemporaryDirectory() as build:
            for target in TARGETS:
                done = ran("unpack", build, target)
                self.assertEqual(done.returncode, 0, done.stderr)
                lines = (FOUND / f"{target}.base64").read_text().split()
                self.assertEqual(lines, sorted(set(lines)), target)
                self.assertEqual(len(list(pathlib.Path(build, "corpus", target).iterdir())), len(lines))

    def test_what_it_cannot_do_it_says(self):
        with tempfile.TemporaryDirectory() as build:
            done = ran("keep", build)
            self.assertEqual(done.returncode, 1)
            self.assertIn("nothing was searched", done.stderr)
        self.assertIn("unpack BUILD TARGET", ran("keep").stderr)


unittest.main(argv=sys.argv[:1])
