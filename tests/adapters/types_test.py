# SPDX-License-Identifier: Apache-2.0
"""The types of the packages, by mypy --strict and by pyright: in themselves, and as who uses them sees them."""
import json
import os
import subprocess
import tempfile
import unittest

from packages import SOURCE, python_with

SDK = SOURCE / "sdk/python"
MYPY, PYRIGHT = "mypy==1.17.1", "pyright==1.1.414"

USER = '''
import asyncio
from pathlib import Path

from cloche import CommandCall, Mount, PythonSession, Sandbox, aio, map_sandboxes

def search(query: str, *, limit: int = 10) -> str:
    return query * limit

def upper(call: CommandCall) -> int:
    for line in call.stdin:
        call.stdout.write(line.upper())
    return 0

def first_line(sandbox: Sandbox, path: Path) -> str:
    return sandbox.files.read_text(path).splitlines()[0]

with Sandbox(mounts=[Mount(Path("data"), Path("/data"), read_only=True)], commands=[search, upper]) as sandbox:
    result = sandbox.commands.run("cat", cwd=Path("/data"), stdin=bytearray(b"x"), check=True)
    text: str = result.stdout
    for figure in result.figures:
        figure.save(Path("figure.png"))
    with sandbox.commands.start("cat", cwd=Path("/data")) as command:
        for stream, printed in command:
            text += stream + printed
    sandbox.files.symlink(Path("/data/a"), "b")
    lines: list[str] = map_sandboxes(first_line, [Path("a")], base=sandbox)
    with PythonSession(sandbox=sandbox) as session:
        same: Sandbox = session.sandbox

async def main() -> None:
    async with aio.Sandbox(commands=[search]) as awaited:
        code: int = (await awaited.commands.run("ls", cwd=Path("/tmp"))).exit_code
        async with await awaited.commands.start("cat", cwd=Path("/tmp")) as command:
            async for stream, printed in command:
                print(stream, printed, code)

asyncio.run(main())
'''


class Types(unittest.TestCase):
    def check(self, *command: str, folder=SDK) -> None:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "MYPYPATH": str(SDK / "src"), "PYTHONPATH": str(SDK / "src")})
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])

    def test_mypy(self):
        self.check(python_with(MYPY), "-m", "mypy", "--cache-dir=/dev/null", "src/cloche")

    def test_pyright(self):
        self.check(python_with(PYRIGHT), "-m", "pyright", "-p", ".")

    def test_a_program_of_a_user(self):
        mypy, pyright = python_with(MYPY), python_with(PYRIGHT)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "program.py"), "w") as program:
                program.write("# pyright: strict\n" + USER)
            self.check(mypy, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "program.py", folder=folder)
            self.check(pyright, "-m", "pyright", "program.py", folder=folder)

    # What is inferred each checker may infer otherwise. Adapters stand on classes of packages that are not there.
    def test_what_is_public_says_its_type(self):
        python = python_with(PYRIGHT)
        with tempfile.TemporaryDirectory() as folder:
            for package in ("cloche", "sandbox_sessions_sdk", "wasmsand"):
                done = subprocess.run([python, "-m", "pyright", "--verifytypes", package, "--ignoreexternal", "--outputjson"],
                                      cwd=folder, env={**os.environ, "PYTHONPATH": str(SDK / "src")}, capture_output=True)
                symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
                self.assertTrue(symbols, package)
                unsaid = [symbol["name"] for symbol in symbols if symbol["isExported"] and not symbol["isTypeKnown"]]
                self.assertEqual([name for name in unsaid if not name.startswith("cloche.adapters.")], [])


if __name__ == "__main__":
    unittest.main()
