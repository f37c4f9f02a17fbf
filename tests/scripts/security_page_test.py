# SPDX-License-Identifier: Apache-2.0
"""docs/security.md is true: each test that it names as holding a promise exists, each promise names one, and each number stands
once. With --regex it says instead which tests those are, for `make hostile`.

    security_page_test.py SOURCE
    security_page_test.py SOURCE --regex    a regular expression over the names of those tests, as ctest has them
"""

import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
PAGE = (SOURCE / "docs/security.md").read_text()
PROMISE = re.compile(r"^\*\*([A-Z]\d+)\. ", re.M)


def promises():
    """{number: its text}"""
    body = PAGE.split("## Where an attack is stopped")[0]
    starts = list(PROMISE.finditer(body))
    ends = [match.start() for match in starts[1:]] + [len(body)]
    return {match[1]: body[match.start():end] for match, end in zip(starts, ends)}


def named(text):
    """(C++ tests, {file: tests} of Python, guests)"""
    quoted = re.findall(r"`([^`]+)`", " ".join(text.split()).partition("Held by")[2])
    python = [name.split(": ") for name in quoted if ".py: " in name]
    return ([name for name in quoted if re.fullmatch(r"[A-Z]\w+\.(\w+|\*)", name)], python,
            [name for name in quoted if name.endswith(".c")])


class SecurityPage(unittest.TestCase):
    def test_each_promise_has_a_number_of_its_own_and_a_test(self):
        numbers = [match[1] for match in PROMISE.finditer(PAGE)]
        self.assertEqual(len(numbers), len(set(numbers)))
        for number, text in promises().items():
            self.assertTrue(any(named(text)), f"{number} names no test")

    def test_each_test_that_is_named_exists(self):
        sources = [path.read_text() for folder in ("src", "tests") for path in (SOURCE / folder).rglob("*_test.cc")]
        known = {f"{suite}.{name}" for text in sources
                 for suite, name in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", text, re.M)}
        suites = {name.partition(".")[0] for name in known}
        for text in promises().values():
            compiled, python, guests = named(text)
            for name in compiled:
                self.assertTrue(name in known or (name.endswith(".*") and name[:-2] in suites), name)
            for file, name in python:
                found = [path for folder in ("tests", "sdk/python/tests") for path in (SOURCE / folder).rglob(file)
                         if f"def {name}(" in path.read_text()]
                self.assertTrue(found, f"{file}: {name}")
            for guest in guests:
                self.assertTrue((SOURCE / "tests/hostile" / guest).exists(), guest)

    def test_the_table_of_attacks_names_promises_that_stand(self):
        known = set(promises())
        for row in re.findall(r"^\| (?:guest|client|model|neighbour|surroundings) \|.*$", PAGE, re.M):
            self.assertLessEqual(set(re.findall(r"\b[GCMS]\d+\b", row)), known, row)


def regex():
    compiled = {name for text in promises().values() for name in named(text)[0]}
    # `http_NAME` for tests/http/NAME_test.py, `mcp_NAME` for tests/mcp/test_NAME.py, `faults_...` for tests/faults
    files = {"faults" if file == "faults_test.py" else f"http_{file.removesuffix('_test.py')}" if file.endswith("_test.py") else file.replace("test_", "mcp_").removesuffix(".py")
             for text in promises().values() for file, _ in named(text)[1] if not file.startswith("test_sdk_")}
    files |= {"python_sdk" for text in promises().values() for file, _ in named(text)[1] if file.startswith("test_sdk_")}
    one = [name.replace(".", r"\.").replace(r"\.*", r"\..*") for name in compiled]
    return "^(" + "|".join(sorted([*one, *files, r"Guests/Hostile\..*"])) + ")"


if __name__ == "__main__":
    if sys.argv[2:] == ["--regex"]:
        print(regex())
    else:
        unittest.main(argv=sys.argv[:1])
