# SPDX-License-Identifier: Apache-2.0
"""`make sdk-docs`: the pages of the Python package, and that each public name says what it is."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]


class Pages(unittest.TestCase):
    def test_each_public_name_is_told_of(self) -> None:
        with tempfile.TemporaryDirectory(dir=os.environ["CLOCHE_BUILD"]) as folder:
            done = subprocess.run([SOURCE / "scripts/sdk_docs", folder], capture_output=True, text=True)
            if done.returncode == 2:
                self.skipTest(done.stderr.strip())
            self.assertEqual(done.returncode, 0, done.stderr)
            page = Path(folder, "sdk-docs/cloche.html").read_text()
            for name in ("Sandbox", "PythonSession", "map_sandboxes", "CommandHandle.wait", "Files.write"):
                self.assertIn(f'id="{name}"', page)
            self.assertIn("map_sandboxes", Path(folder, "sdk-docs/cloche/aio.html").read_text())


if __name__ == "__main__":
    unittest.main()
