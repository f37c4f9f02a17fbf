# SPDX-License-Identifier: Apache-2.0
"""node at a terminal of the sandbox: its session, and lines that programs ask for there."""
import json
import os
import re
import subprocess
import unittest

# Types at a terminal, a piece whenever what it waits for has been shown since the last one; prints all that was shown.
DRIVER = r"""
import json, os, pty, subprocess, sys
command, steps = json.loads(sys.argv[1])
ours, theirs = os.openpty()
child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", "NODE_REPL_HISTORY": ""})
os.close(theirs)
shown = since = ""
for wanted, typed in steps:
    while wanted not in since:
        part = os.read(ours, 65536).decode(errors="replace")
        if not part:
            sys.exit("ended before " + wanted + ": " + shown)
        shown, since = shown + part, since + part
    since = since[since.index(wanted) + len(wanted):]
    os.write(ours, typed.encode())
while True:
    try:
        part = os.read(ours, 65536).decode(errors="replace")
    except OSError:
        break
    if not part:
        break
    shown += part
print(shown)
sys.exit(child.wait())
"""


class Terminal(unittest.TestCase):
    maxDiff = None

    def type_at(self, command, steps):
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "120s", "--", "python3", "-c", DRIVER, json.dumps([command, steps])],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", done.stdout).replace("\r", ""), done.returncode, done.stderr

    def test_a_session_edits_completes_waits_and_ends(self):
        shown, status, errors = self.type_at(["node"], [
            ("> ", "const thing = { first: 1, second: 2 }\r"), ("undefined", ""), ("> ", "thing.fi"), ("fi", "\t"), ("rst", "\r"), ("1", ""),
            ("> ", "thing.\x01xyz\x15\x0b_ + 41\r"), ("42", ""), ("> ", "function f() {\r"), ("... ", "return 5 }\r"), ("undefined", ""), ("> ", "await Promise.resolve(f())\r"), ("5", ""),
            ("> ", "\x1b[A\r"), ("5", ""), ("> ", ".editor\r"), ("Ctrl+C", "let m = 6\rm + 1\r"), ("m + 1", "\x04"), ("7", ""), ("> ", "nothing.here\r"), ("Uncaught ReferenceError: nothing is not defined", ""),
            ("> ", "\x03"), ("press Ctrl+C again", "\x03")])
        self.assertEqual(status, 0, errors + shown)
        self.assertIn('Welcome to Node.js v22.18.0.\nType ".help" for more information.\n', shown)

    def test_a_program_reads_keys_and_gives_the_terminal_back(self):
        program = ("const readline = require('readline'); const lines = readline.createInterface({ input: process.stdin, output: process.stdout });"
                   "lines.question('name? ', (name) => { console.log('<' + name + '>', process.stdin.isRaw, process.stdout.hasColors()); lines.close(); });")
        shown, status, errors = self.type_at(["bash", "-c", 'node -e "$0"; stty -a | grep -o " icanon"', program], [("name? ", "Adb\x1b[D\x7fa\x1b[C\x7f\r")])
        self.assertEqual(status, 0, errors + shown)
        self.assertRegex(shown, r"<Aa> true true\n icanon")


if __name__ == "__main__":
    unittest.main(verbosity=2)
