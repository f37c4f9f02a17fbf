#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the manual pages and the shells' completion from what the program says of itself.

    packaging/manual/make.py FOLDER PROGRAM [ARGUMENT ...]

FOLDER gets man1/*.1, bash/cloche and zsh/_cloche. PROGRAM may be several words, such as an emulator
and a program for another machine.
"""
import subprocess
import sys
from pathlib import Path

import completion
import help_pages
from man_page import man_page


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != content:
        path.write_text(content)


def main(folder: Path, program: list[str]) -> None:
    commands = help_pages.read(program)
    version = subprocess.run([*program, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    pages = {f"cloche-{c.name}" if c.name else "cloche": c for c in commands if c.name != "help"}
    for name, command in pages.items():
        write(folder / "man1" / f"{name}.1", man_page(command, version, list(pages)))
    for old in set((folder / "man1").iterdir()) - {folder / "man1" / f"{name}.1" for name in pages}:
        old.unlink()
    write(folder / "bash/cloche", completion.bash(commands))
    write(folder / "zsh/_cloche", completion.zsh(commands))
    (folder / "stamp").touch()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:])
