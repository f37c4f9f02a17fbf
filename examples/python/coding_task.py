# SPDX-License-Identifier: Apache-2.0
"""A coding task that is judged by tests: each candidate is tried in a fork of the same sandbox, side by side.

The candidates stand for what a model has written. The sandbox with the project is made once; a fork of it
costs a millisecond, and what a candidate breaks is gone with its fork.
"""
from typing import Optional

from cloche import Sandbox, map_sandboxes

PROJECT = {
    "roman.py": "def roman(number):\n    return ''\n",
    "test_roman.py": """import unittest
from roman import roman

class Roman(unittest.TestCase):
    def test_numbers(self):
        for number, text in ((1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (40, "XL"), (1994, "MCMXCIV")):
            with self.subTest(number):
                self.assertEqual(roman(number), text)

    def test_zero_is_none(self):
        with self.assertRaises(ValueError):
            roman(0)
""",
}

PARTS = "((1000, 'M'), (500, 'D'), (100, 'C'), (50, 'L'), (10, 'X'), (5, 'V'), (1, 'I'))"
ALL_PARTS = ("((1000, 'M'), (900, 'CM'), (500, 'D'), (400, 'CD'), (100, 'C'), (90, 'XC'), (50, 'L'), (40, 'XL'), "
             "(10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I'))")
BODY = """    text = ''
    for value, letters in {parts}:
        while number >= value:
            text += letters
            number -= value
    return text
"""
CANDIDATES = {
    "counts letters only": "def roman(number):\n" + BODY.format(parts=PARTS),
    "never ends": "def roman(number):\n    while number != 'I':\n        pass\n",
    "takes zero": "def roman(number):\n" + BODY.format(parts=ALL_PARTS),
    "is right": "def roman(number):\n    if number < 1:\n        raise ValueError(number)\n" + BODY.format(parts=ALL_PARTS),
}


def judge(sandbox: Sandbox, code: str) -> Optional[str]:
    """Why the candidate fails; None: it does not."""
    sandbox.files.write("roman.py", code)
    done = sandbox.commands.run("python3 -m unittest -q", timeout_ms=20_000)
    if done.ok:
        return None
    return done.reason or done.stderr.strip().rpartition("\n")[2]


def main() -> None:
    with Sandbox() as project:
        for name, text in PROJECT.items():
            project.files.write(name, text)
        project.commands.run("git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm start", check=True)
        verdicts = map_sandboxes(judge, CANDIDATES.values(), base=project, workers=4)
        for name, verdict in zip(CANDIDATES, verdicts):
            print(f"{name}: {verdict or 'passes'}")
        best = next(name for name, verdict in zip(CANDIDATES, verdicts) if verdict is None)
        project.files.write("roman.py", CANDIDATES[best])
        print(project.commands.run("git diff --stat", check=True).stdout, end="")


if __name__ == "__main__":
    main()
