# SPDX-License-Identifier: Apache-2.0
"""The official clients, unmodified, from the registries, into the build folder. Where those are not reached there are none."""
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(os.environ["CLOCHE_BUILD"], "mcp_clients")
PYTHON_CLIENT = "mcp==2.3.0"
NODE_CLIENT = "@modelcontextprotocol/sdk@1.32.2"


class Missing(Exception):
    """One sentence that says why there is none."""


def _made(folder: Path, make) -> Path:
    """Makes the folder once, whoever asks."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / f"{folder.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            (folder / ".whole").touch()
    return folder


def _run(*command, **more) -> None:
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        raise Missing(f"{command[0]} cannot get it: {done.stderr.strip()[-200:]}")


def python() -> str:
    """A Python that has PyPI's `mcp`."""
    if sys.version_info < (3, 10):
        raise Missing("the client wants Python 3.10")

    def make(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", str(folder))
        _run(str(folder / "bin/pip"), "install", "--quiet", "--retries", "0", PYTHON_CLIENT)
    return str(_made(FOLDER / "python", make) / "bin/python")


def node() -> Path:
    """A folder with npm's SDK."""
    if not (shutil.which("node") and shutil.which("npm")):
        raise Missing("there is no node and npm")

    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
        _run("npm", "install", "--silent", "--fetch-retries", "0", NODE_CLIENT, cwd=folder)
    return _made(FOLDER / "node", make)
