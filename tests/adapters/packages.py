# SPDX-License-Identifier: Apache-2.0
"""Packages of others, from the index, each set in a virtual environment of the build folder; a test that cannot have
them is skipped."""
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Sequence

FOLDER = Path(os.environ["CLOCHE_BUILD"], "venvs")
SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "http"))
from server import PATIENCE_S, Server  # noqa: E402


def newer_python(since: tuple) -> str:
    """This Python, or where it is older than that, another one of this machine."""
    if sys.version_info >= since:
        return sys.executable
    for name in ("python3.12", "python3.13", "python3.14"):
        found = shutil.which(name)
        asked = found and subprocess.run([found, "-c", f"import sys; sys.exit(sys.version_info < {since})"],
                                         capture_output=True)
        if asked and asked.returncode == 0:
            return found
    raise unittest.SkipTest(f"they want Python {'.'.join(map(str, since))}")


def python_with(*install: str, since: tuple = (3, 9)) -> str:
    """A Python that has them; `install` are words of pip, one or more lines of them."""
    base = newer_python(since)
    lines = [line.split() for line in install]
    version = sys.version_info[:2] if base == sys.executable else base
    name = hashlib.sha256(repr((version, lines)).encode()).hexdigest()[:16]
    folder = FOLDER / name
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            commands = [[base, "-m", "venv", str(folder)]]
            commands += [[str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--retries", "0",
                          "--disable-pip-version-check", *words] for words in lines]
            for command in commands:
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise unittest.SkipTest(f"the package index does not give it: {done.stderr.strip()[-300:]}")
            (folder / ".whole").touch()
    return str(folder / "bin/python")


def run_checks(python: str, checks: str, **environment: str) -> str:
    """Runs checks of this folder with the virtual environment's pytest, as `run_program` does; what it printed."""
    done = subprocess.run(
        [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "-rfEX",
         str(Path(__file__).with_name(checks))],
        capture_output=True, text=True, timeout=PATIENCE_S * 2,
        env={**os.environ, "PYTHONPATH": str(SOURCE / "sdk/python/src"), **environment})
    if done.returncode:
        raise AssertionError(done.stdout[-8000:] + done.stderr[-2000:])
    return done.stdout


def run_program(python: str, program: str, inside: Sequence[str] = (), **environment: str) -> str:
    """Runs a program of this folder, with the package `cloche` of the source tree, by the words of another one where
    `inside` has some; what it printed."""
    done = subprocess.run(
        [*inside, python, "-B", str(Path(__file__).with_name(program))], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE / "sdk/python/src"), **environment})
    if done.returncode:
        raise AssertionError(f"{program} failed:\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}")
    return done.stdout


def run_here_and_remotely(python: str, program: str, **environment: str) -> None:
    """The same program with sandboxes of its own, and with sessions of a server (SERVER_URL, SERVER_TOKEN)."""
    run_program(python, program, **environment)
    with Server("serve", "--token", "secret") as server:
        run_program(python, program, SERVER_URL=server.url, SERVER_TOKEN="secret", **environment)
