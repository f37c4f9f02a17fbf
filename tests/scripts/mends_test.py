# SPDX-License-Identifier: Apache-2.0
"""Which of Debian's patches are told as new: those that no port takes and nobody has judged, and those that were rewritten.

    mends_test.py SOURCE
"""
import pathlib
import re
import sys
import tomllib
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "userland/build"))

import mends  # noqa: E402


class Mends(unittest.TestCase):
    def setUp(self):
        self.real = mends.sources.patches_in_reach
        self.addCleanup(setattr, mends.sources, "patches_in_reach", self.real)

    def new(self, debian, taken, left):
        mends.sources.patches_in_reach = lambda source: ("1.0-2", debian)
        return mends.not_judged({"package": "zip", "patches": taken}, left)

    def test_what_nobody_has_judged_is_new(self):
        self.assertEqual(self.new({"b": "2", "a": "1", "taken": "3", "left": "4"}, {"taken": "3"}, {"left": "4"}),
                         ("1.0-2", {"a": "1", "b": "2"}))

    def test_what_was_rewritten_is_new(self):
        self.assertEqual(self.new({"taken": "5", "left": "6"}, {"taken": "3"}, {"left": "4"})[1], {"taken": "5", "left": "6"})

    def test_what_debian_has_no_more_is_not_told(self):
        self.assertEqual(self.new({}, {"taken": "3"}, {"left": "4"})[1], {})

    def test_archives_of_several_ports_are_asked_for_once_with_what_all_take(self):
        tables = list(mends.debian_sources())
        self.assertEqual(len(tables), len({table["file"] for table in tables}))
        zipped = next(table for table in tables if table["package"] == "zip")
        self.assertIn("fix-command-injection.patch", zipped["patches"])

    def test_what_is_left_is_not_taken_as_well(self):
        left = tomllib.loads(mends.LEFT.read_text())
        packages = {table["package"]: table["patches"] for table in mends.debian_sources()}
        for package, patches in left.items():
            for name, sha256 in patches.items():
                self.assertRegex(sha256, re.compile("^[0-9a-f]{64}$"))
                self.assertNotEqual(packages[package].get(name), sha256, f"{package}: {name}")


unittest.main()
