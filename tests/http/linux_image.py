# SPDX-License-Identifier: Apache-2.0
"""A store of images with one of this machine's own programs, for tests of servers with the linux engine."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from server import PROGRAM

IMAGE = "small"
SCRIPT = Path(__file__).resolve().parents[2] / "src/native/host/test_image.sh"
USER_OF_BOXES = 1900000000  # that they have where root runs this


class LinuxImages:
    """`problem` says why this machine has no such sandboxes; `environment` is what a server wants that has IMAGE."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o755)
        store = Path(self.folder.name, "store")
        self.environment = {"CLOCHE_IMAGES": str(store)}
        self.problem = self.make_image() or self.said("run", "--engine", "linux", "--image", IMAGE, "true")

    def make_image(self) -> str:
        root = Path(self.folder.name, "root")
        root.mkdir()
        made = subprocess.run(["sh", SCRIPT, root, str(USER_OF_BOXES)], capture_output=True, check=False)
        problem = self.said("image", "import", root, "--name", IMAGE) if made.returncode == 0 else "no image can be made here"
        shutil.rmtree(root)
        return problem

    def said(self, *words) -> str:
        """Why it does not do that; nothing: it has."""
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, env={**os.environ, **self.environment})
        return "" if done.returncode == 0 else done.stderr or f"status {done.returncode}"
