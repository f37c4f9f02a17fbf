# SPDX-License-Identifier: Apache-2.0
"""Tests of others (tests/cpython, tests/component): what is said of results that differ from a list, and that the lists are in order."""
import re
import sys
import tomllib
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()
sys.path += [str(ROOT / "tests" / "cpython"), str(ROOT / "tests")]

import cpython_test  # noqa: E402
import expectations  # noqa: E402

LISTS = [ROOT / "tests/cpython/expected.toml", ROOT / "tests/component/crate_expected.toml"]

EXPECTED = [("test.a.One.test_x", "why", False), ("test.a.Tls*", "why", False), ("test.a.One.test_slow", "why", True)]


class Judgement(unittest.TestCase):
    def judge(self, *results, every=False):
        return expectations.judge({name: (outcome, "because") for name, outcome in results}, EXPECTED, every, "expected.toml")

    def test_what_is_expected_is_not_told(self) -> None:
        self.assertEqual(self.judge(("test.a.One.test_x", "fail"), ("test.a.Tls.test_1", "fail"), ("test.a.Tls.test_2", "pass"),
                                    ("test.a.One.test_slow", "pass"), ("test.a.One.test_y", "pass"), every=True), ([], []))

    def test_a_failure_that_is_not_listed(self) -> None:
        self.assertEqual(self.judge(("test.a.One.test_z", "fail")), (["test.a.One.test_z fails: because"], []))

    def test_an_entry_that_passes(self) -> None:
        self.assertEqual(self.judge(("test.a.One.test_x", "pass")), ([], ["test.a.One.test_x passes: take it from expected.toml"]))
        self.assertEqual(self.judge(("test.a.Tls.test_1", "pass")), ([], ["test.a.Tls* passes: take it from expected.toml"]))

    def test_an_entry_that_is_not_there(self) -> None:
        _, stale = self.judge(("test.a.One.test_y", "pass"), every=True)
        self.assertEqual(stale, ["test.a.One.test_x does not run: take it from expected.toml",
                                 "test.a.Tls* does not run: take it from expected.toml"])
        self.assertEqual(self.judge(("test.a.One.test_y", "pass")), ([], []))


class Lists(unittest.TestCase):
    def test_modules_come_once(self) -> None:
        names = cpython_test.modules()
        self.assertEqual(len(names), len(set(names)))
        self.assertGreater(len(names), 150)

    def test_each_failure_has_one_reason(self) -> None:
        for path in LISTS:
            patterns = [pattern for pattern, _, _ in expectations.expected(path)]
            self.assertEqual(sorted(patterns), sorted(set(patterns)))
            self.assertGreater(len(patterns), 0)
            for reason in tomllib.loads(path.read_text())["reason"]:
                self.assertRegex(reason["why"], r"^[A-Z].{20,}\.$")

    def test_failures_are_of_modules_that_run(self) -> None:
        modules = {name.split(".")[0] for name in cpython_test.modules()} | {"datetimetester"}
        for pattern, _, _ in expectations.expected(LISTS[0]):
            inner = re.sub(r"^\w+ \((.*)\)$", r"\1", pattern)  # setUpClass (test.x.Y)
            self.assertIn(inner.split(".")[1], modules, pattern)


if __name__ == "__main__":
    unittest.main()
