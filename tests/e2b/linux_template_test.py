# SPDX-License-Identifier: Apache-2.0
"""E2B's own Python clients with a template of the linux engine. tests/native/program_test.cc runs this, with the image
`small` in the store; words of the command line are the program's."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import python_sdk_test
from clients import Clients
from server import PROGRAM, Server

KEY = "e2b_0123456789"
WORDS = sys.argv[1:]


class LinuxTemplates(Clients):
    install = classmethod(python_sdk_test.PythonClients.install.__func__)

    @classmethod
    def mounted(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        (Path(folder.name) / "data").write_text("of the host")
        return folder.name

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.server = Server("serve", "--token", KEY, "--e2b-template", "small=small", "--session-mount", f"{cls.mounted()}:/mounted",
                            port=cls.server.port)
        cls.addClassCleanup(cls.server.stop)

    def test_a_program_runs(self):
        program = str(Path(__file__).parent / "linux_template_program.py")
        self.assertEqual(self.check([self.python, program, *WORDS]), "done\n")


class WrongLines(unittest.TestCase):
    def test_are_one_sentence_at_the_start(self):
        for words, said in [(["x"], "wants NAME=IMAGE"), (["a="], "wants NAME=IMAGE"), (["=b"], "wants NAME=IMAGE"),
                            (["a b=small"], "wants NAME=IMAGE"), (["a=none"], "--e2b-template a=none: there is no image"),
                            (["a=../small"], "--e2b-template a=../small: "),
                            (["a=small", "--e2b-template", "a=small"], "says twice"),
                            (["a=small", "--isolate", "owner"], "--isolate"),
                            (["a=small", "--session-mount", "nothing:/data"], "nothing")]:
            done = subprocess.run([PROGRAM, "serve", "--port", "0", "--e2b-template", *words], capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
