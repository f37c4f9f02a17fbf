# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/python, as a reader would run them."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fake_models import COMMANDS, KEY, Models

SOURCES = Path(__file__).resolve().parents[2] / "examples/python"
MOST_SECONDS = 500
ELSEWHERE = {"ray_rollouts"}  # tests/adapters/ray_program.py runs it, on a cluster


class Examples(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def output_of(self, name: str, *arguments: str, **environment: str) -> tuple:
        """What it printed, and what it said to standard error."""
        done = subprocess.run([sys.executable, "-B", SOURCES / f"{name}.py", *arguments], cwd=self.folder, capture_output=True,
                              text=True, timeout=MOST_SECONDS, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_all_of_them_are_here(self) -> None:
        named = {test.removeprefix("test_") for test in dir(self) if test.startswith("test_")}
        self.assertLessEqual({source.stem for source in SOURCES.glob("*.py")}, named | ELSEWHERE)

    def test_data_analysis(self) -> None:
        printed, _ = self.output_of("data_analysis", "rain.png")
        self.assertIn("Bergen  652  217.3\n", printed)
        self.assertTrue(printed.endswith("'Bergen'\n"), printed)
        picture = (self.folder / "rain.png").read_bytes()
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(len(picture), 5000)

    def test_agent_loop(self) -> None:
        with Models() as models:
            for api in ("anthropic", "openai", "google"):
                with self.subTest(api):
                    printed, _ = self.output_of("agent_loop", api, "What is six times seven?", MODEL="a-model",
                                                MODEL_URL=models.url, **{f"{api.upper()}_API_KEY": KEY})
                    words = printed.replace("Let me see.\n", "")
                    self.assertEqual(words, f"$ {COMMANDS[0]}\n$ {COMMANDS[1]}\nThe answer is 42.\n")

    def test_agent_loop_says_what_it_wants(self) -> None:
        for words in ([], ["nobody", "a task"]):
            done = subprocess.run([sys.executable, "-B", SOURCES / "agent_loop.py", *words], capture_output=True, text=True,
                                  timeout=MOST_SECONDS, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn("agent_loop.py API TASK", done.stderr)

    def test_coding_task(self) -> None:
        printed, _ = self.output_of("coding_task")
        lines = printed.splitlines()
        self.assertEqual(lines[0], "counts letters only: FAILED (failures=6)")
        self.assertTrue(lines[1].startswith("never ends: ") and "passes" not in lines[1], lines)
        self.assertEqual(lines[2:4], ["takes zero: FAILED (failures=1)", "is right: passes"])
        self.assertIn("1 file changed", lines[-1])

    def test_many_sandboxes(self) -> None:
        printed, bar = self.output_of("many_sandboxes")
        self.assertEqual(printed, "1000 sandboxes; 871 takes 178 steps\n")
        self.assertIn("1000/1000", bar)


if __name__ == "__main__":
    unittest.main()
