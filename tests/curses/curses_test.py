# SPDX-License-Identifier: Apache-2.0
"""curses in a sandbox shows on a terminal what it shows natively: drive.py runs program.py's scenes in both, and says the same of both."""
import difflib
import os
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
NATIVE = "/usr/bin/python3"
WITHOUT_TERMINAL = """
import curses, os
def tell(function, *arguments):
    try:
        print(function(*arguments))
    except curses.error as error:
        print(type(error), error)
tell(curses.setupterm, "no-such-terminal", 1)
tell(curses.tigetstr, "cup")
for name in "xterm-256color", "vt100":
    tell(curses.setupterm, name, 1)
    tell(curses.tigetstr, "cup"), tell(curses.tigetnum, "colors"), tell(curses.tigetflag, "nonsense")
tell(curses.doupdate)
tell(curses.wrapper, print)
"""


def cloche(*command):
    return [os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "500s", "--mount", f"{HERE}:/curses:ro", "--", *command]


def output(command, terminal="xterm-256color"):
    # Without a terminal: standard streams that are none, and a session of its own.
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, start_new_session=True,
                          env={**os.environ, "TERM": terminal})
    return done.stdout if done.returncode == 0 else f"{done.stdout}\nstatus {done.returncode}\n{done.stderr}"


class Curses(unittest.TestCase):
    maxDiff = None

    def test_shows_what_it_shows_natively(self):
        native = output([NATIVE, "-B", str(HERE / "drive.py"), NATIVE])
        ours = output(cloche("python3", "-B", "/curses/drive.py", "/usr/bin/python3"))
        self.assertNotIn("is not shown", native)
        self.assertGreater(native.count("-- end 0"), 10)
        difference = list(difflib.unified_diff(native.splitlines(), ours.splitlines(), "native", "sandbox", lineterm="", n=8))
        self.assertEqual(difference, [], "\n".join(difference[:80]))

    def test_says_the_same_without_a_terminal(self):
        native = output([NATIVE, "-u", "-c", WITHOUT_TERMINAL])
        self.assertIn("could not find terminal", native)
        self.assertEqual(output(cloche("env", "TERM=xterm-256color", "python3", "-u", "-c", WITHOUT_TERMINAL)), native)


if __name__ == "__main__":
    if subprocess.run([NATIVE, "-c", "import curses; curses.setupterm('xterm-256color', 1)"], check=False, capture_output=True).returncode:
        print("This machine's Python has no curses.")
        sys.exit(77)
    unittest.main()
