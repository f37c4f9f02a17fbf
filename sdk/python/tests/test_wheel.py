# SPDX-License-Identifier: Apache-2.0
"""The wheel: built, installed into a fresh environment, and used there with empty caches and nothing
of the source tree."""
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SDK = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ["CLOCHE_BUILD"])
CODE = BUILD / "wheel-code"

USE = """
import cloche, wasmsand, sys
from cloche._binary import find_binary
assert "site-packages" in find_binary(), find_binary()
with wasmsand.Sandbox(timeout_ms=600_000) as sbx:
    assert sbx.commands.run("echo hello | tr a-z A-Z").stdout == "HELLO\\n"
    sbx.files.write("/tmp/a", b"1")
    assert sbx.files.read("/tmp/a") == b"1"
    if "python" in sys.argv:
        assert sbx.python.execute("print(6 * 7)").stdout == "42\\n"
"""


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cloche-wheel-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        # Compiling Python for other machines takes minutes: what `make wheel` left is used, if anything.
        cls.has_code = (CODE / "index").exists()
        environment = {**os.environ, "CLOCHE_WHEEL_LEVEL": "0",
                       "CLOCHE_CODE": str(CODE) if cls.has_code else "none"}
        subprocess.run([sys.executable, SDK / "wheel_backend.py", cls.folder / "dist"], check=True,
                       env=environment, stdout=subprocess.DEVNULL)
        cls.wheel = next((cls.folder / "dist").glob("*.whl"))
        subprocess.run([sys.executable, "-m", "venv", cls.folder / "venv"], check=True)
        cls.python = cls.folder / "venv/bin/python"
        subprocess.run([cls.python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                        "--disable-pip-version-check", cls.wheel], check=True)

    def environment(self, home: str) -> dict:
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.folder / home), "LANG": "C.UTF-8"}

    def test_it_says_what_it_runs_on(self) -> None:
        self.assertRegex(self.wheel.name, r"^cloche-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
        for name in ("cloche/_runtime/bin/cloche", "cloche/_runtime/lib/libwasmtime.so", "cloche/py.typed",
                     "wasmsand/__init__.py", "cloche/_runtime/rootfs/manifest.json", "cloche/_runtime/rootfs/files.pack"):
            self.assertIn(name, names)
        self.assertNotIn("cloche/_runtime/lib/libc.so.6", names)

    def test_it_works_with_empty_caches(self) -> None:
        words = ["python"] if self.has_code else []
        done = subprocess.run([self.python, "-W", "error", "-c", USE, *words], cwd="/", capture_output=True,
                              text=True, env=self.environment("first"), check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        if self.has_code:
            self.assertNotIn("compiling", done.stderr)

    def test_its_commands(self) -> None:
        program = self.folder / "venv/bin/cloche"
        done = subprocess.run([program, "run", "echo hi"], capture_output=True, text=True, cwd="/",
                              env=self.environment("second"), check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "hi\n"), done.stderr)
        for name in ("sbs", "session-based-sandbox"):
            self.assertTrue(os.access(self.folder / "venv/bin" / name, os.X_OK))


if __name__ == "__main__":
    unittest.main()
