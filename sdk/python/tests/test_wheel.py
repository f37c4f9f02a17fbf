# SPDX-License-Identifier: Apache-2.0
"""The wheels: built, installed into a fresh environment, and used there with empty caches and nothing
of the source tree."""
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path

SDK = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SDK))
import wheel_backend  # noqa: E402

BUILD = Path(os.environ["CLOCHE_BUILD"])
CODE = BUILD / "machine-code"

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
        cls.wheels = {path.name.partition("-")[0]: path for path in (cls.folder / "dist").glob("*.whl")}
        cls.wheel = cls.wheels["cloche"]
        subprocess.run([sys.executable, "-m", "venv", cls.folder / "venv"], check=True)
        cls.python = cls.folder / "venv/bin/python"
        subprocess.run([cls.python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links",
                        cls.folder / "dist", "--disable-pip-version-check", "cloche"], check=True)

    def environment(self, home: str) -> dict:
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.folder / home), "LANG": "C.UTF-8"}

    def test_its_extras_are_those_of_the_project(self) -> None:
        with open(SDK / "pyproject.toml", "rb") as file:
            self.assertEqual(wheel_backend.EXTRAS, tomllib.load(file)["project"]["optional-dependencies"])

    def test_it_says_what_it_runs_on(self) -> None:
        self.assertRegex(self.wheel.name,
                         r"^cloche-[\d.]+-py3-none-manylinux_2_17_(\w+)\.musllinux_1_1_\1\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
        # Its own C library: it asks nothing of the machine's.
        for name in ("bin/cloche", "lib/cloche", "lib/program", "lib/libwasmtime.so", "lib/libc.so.6"):
            self.assertIn(f"cloche/_runtime/{name}", names)
        for name in ("cloche/py.typed", "cloche/_version.py", "wasmsand/__init__.py"):
            self.assertIn(name, names)

    def test_no_two_wheels_bring_the_same_file(self) -> None:
        seen: dict[str, str] = {}
        for package, path in self.wheels.items():
            with zipfile.ZipFile(path) as wheel:
                for name in wheel.namelist():
                    self.assertNotIn(name, seen, package)
                    seen[name] = package
        for name in ("manifest.json", "files.pack", "system.index", "python.wasm"):
            self.assertIn(f"cloche/_runtime/rootfs/{name}", seen)

    def test_wheels_are_as_small_as_an_index_wants(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files = {}
            for number, size in enumerate((700, 600, 500, 400, 300)):
                path = Path(folder) / str(number)
                path.write_bytes(os.urandom(size))
                files[path.name] = path
            bins = wheel_backend.in_bins(files, 0, 2200)
            self.assertEqual(sorted(name for held in bins for name in held), sorted(files))
            self.assertGreater(len(bins), 1)
            for held in bins:
                self.assertLessEqual(sum(path.stat().st_size + 500 for path in held.values()), 2200)
            with self.assertRaises(SystemExit):
                wheel_backend.in_bins(files, 0, 1000)

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
