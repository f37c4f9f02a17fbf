# SPDX-License-Identifier: Apache-2.0
"""The skill pages: each example in them is run, and prints what the page says that it does."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "http"))
from server import PATIENCE_S, PROGRAM, Server  # noqa: E402

PAGES = SOURCE / "src/doors/skills/pages"
TOKEN = "e2b_0123456789"
# An example, and what it prints.
EXAMPLE = re.compile(r"^```(sh|python|js)\n(.*?)^```\n```text\n(.*?)^```\n", re.M | re.S)


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", "--token", TOKEN, ssh=True)
        cls.addClassCleanup(cls.server.stop)
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        bin_folder = cls.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "cloche").symlink_to(PROGRAM)
        cls.environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "URL": cls.server.url,
                           "TOKEN": TOKEN,
                           "SSH_HOST": "127.0.0.1", "SSH_PORT": str(cls.server.ssh_port), "PYTHONPATH": str(SOURCE / "sdk/python/src")}

    def run_example(self, kind: str, code: str) -> str:
        work = tempfile.mkdtemp(dir=self.folder)
        words = {"sh": ["bash", "-c", code], "python": [sys.executable, "-c", code]}[kind]
        done = subprocess.run(words, cwd=work, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S)
        return done.stdout + done.stderr

    def test_examples_print_what_the_pages_say(self):
        for tool in ("jq", "curl", "ssh", "ssh-keygen"):
            if not shutil.which(tool):
                self.skipTest(f"this machine has no {tool}, which the examples use")
        for page in sorted(PAGES.glob("*.md")):
            text = page.read_text()
            examples = EXAMPLE.findall(text)
            self.assertEqual(len(examples), text.count("\n```text\n"), f"{page.name}: an example without what it prints")
            self.assertGreater(len(examples), 0, page.name)
            for kind, code, printed in examples:
                if kind == "js":
                    continue  # run by tests/typescript, which builds the package
                with self.subTest(page.name, code=code[:60]):
                    self.assertEqual(self.run_example(kind, code), printed)

    def test_each_page_is_printed_and_served(self):
        names = sorted(page.stem for page in PAGES.glob("*.md"))
        listed = subprocess.run([PROGRAM, "skill"], capture_output=True, text=True)
        self.assertEqual(sorted(re.findall(r"^  cloche skill (\S+)", listed.stdout, re.M)), names)
        for name in names:
            text = (PAGES / f"{name}.md").read_text()
            self.assertEqual(subprocess.run([PROGRAM, "skill", name], capture_output=True, text=True).stdout, text)
            status, headers, content = self.server.ask("GET", f"/skills/{name}.md")
            self.assertEqual((status, content.decode()), (200, text))
            self.assertTrue(headers["Content-Type"].startswith("text/markdown"))
        wrong = subprocess.run([PROGRAM, "skill", "nonesuch"], capture_output=True, text=True)
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("cloche skill says which there are", wrong.stderr)
        self.assertEqual(self.server.ask("GET", "/skill.md")[2].decode(), (PAGES / "serve.md").read_text())
        index = self.server.ask("GET", "/llms.txt")[2].decode()
        for address in re.findall(r"\]\((/[^)]+)\)", index):
            self.assertEqual(self.server.ask("GET", address)[0], 200, address)
        for path in ("/skills/nonesuch.md", "/skills/.md", "/skills/"):
            self.assertNotEqual(self.server.ask("GET", path, token=TOKEN)[0], 200, path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
