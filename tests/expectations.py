# SPDX-License-Identifier: Apache-2.0
"""Tests of others, held against a list of those that fail here and why.

The list is a TOML file: tables `reason`, each with `why`, `tests` (names, which may hold `*`) and `may_pass` for what hangs on the
machine's speed.
"""
import tomllib
from fnmatch import fnmatchcase


def expected(path):
    """[(pattern of a test's name, reason, whether it may pass too)]"""
    table = tomllib.loads(path.read_text())
    return [(pattern, reason["why"], reason.get("may_pass", False)) for reason in table["reason"] for pattern in reason["tests"]]


def judge(results, expectations, every, name_of_list):
    """Sentences on what differs from the list: (failures that it does not name, entries that it has too many).

    `results` is {test: (outcome, why)}, `every` says that all tests ran."""
    unexpected, stale = [], []
    met = {pattern: [] for pattern, _, _ in expectations}
    for name, (outcome, why) in sorted(results.items()):
        patterns = [(pattern, may_pass) for pattern, _, may_pass in expectations if fnmatchcase(name, pattern)]
        for pattern, may_pass in patterns:
            met[pattern].append(outcome)
        if outcome == "fail" and not patterns:
            unexpected.append(f"{name} fails: {why}")
        if outcome == "pass" and any(not may_pass and "*" not in pattern for pattern, may_pass in patterns):
            stale.append(f"{name} passes: take it from {name_of_list}")
    for pattern, _, may_pass in expectations:
        if every and not may_pass and "fail" not in met[pattern] and "pass" not in met[pattern]:
            stale.append(f"{pattern} does not run: take it from {name_of_list}")
        elif "*" in pattern and met[pattern] and not may_pass and "fail" not in met[pattern]:
            stale.append(f"{pattern} passes: take it from {name_of_list}")
    return unexpected, stale
