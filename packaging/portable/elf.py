# SPDX-License-Identifier: Apache-2.0
"""What a program of ours needs at run time: its shared libraries, its loader, copies without debug
information. For this machine's programs and for those of others, whose libraries lie in a sysroot."""
from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path


def run(*command: str | Path, **options) -> str:
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr.strip()}")
    return done.stdout


def machine_of(binary: Path) -> str:
    """As `uname -m` says it."""
    return "aarch64" if "AArch64" in run("readelf", "-h", binary) else "x86_64"


def tool(binary: Path, name: str) -> str:
    """strip, gcc ... for the machine of a program."""
    own = f"{machine_of(binary)}-linux-gnu-{name}"
    return own if shutil.which(own) else name


def loader_of(binary: Path, sysroot: Path = Path("/")) -> tuple[str, Path]:
    """The path that the program asks for, and the file."""
    asked = re.search(r"interpreter: (\S+?)\]", run("readelf", "-l", binary))
    if not asked:
        raise SystemExit(f"{binary} asks for no loader")
    return asked[1], (sysroot / asked[1].lstrip("/")).resolve() if sysroot != Path("/") else Path(asked[1]).resolve()


def libraries_of(binary: Path, sysroot: Path = Path("/")) -> dict[str, Path]:
    """Name to file of all shared libraries that the program and its libraries need, the C library's
    too. Those beside it, in lib/, come first."""
    triplet = f"{machine_of(binary)}-linux-gnu"
    folders = [binary.parent.parent / "lib", *(sysroot / name for name in
               (f"lib/{triplet}", f"usr/lib/{triplet}", f"usr/{triplet}/lib", "lib64", "usr/lib64", "lib", "usr/lib"))]
    found: dict[str, Path] = {}
    todo = [binary]
    while todo:
        for name in re.findall(r"\(NEEDED\).*\[(.+?)\]", run("readelf", "-d", todo.pop())):
            if name in found:
                continue
            path = next((f / name for f in folders if (f / name).exists()), None)
            if path is None:
                raise SystemExit(f"{binary} needs {name}, which is in none of {', '.join(map(str, folders))}")
            found[name] = path.resolve()
            todo.append(path)
    return dict(sorted(found.items()))


def strip(source: Path, folder: Path) -> Path:
    """A copy without debug information, kept in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / source.name
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        run(tool(source, "strip"), "--strip-debug", "-o", target, source)
    return target


def make_launcher(program: Path, folder: Path) -> Path:
    """launcher.c for the machine of `program`."""
    folder.mkdir(parents=True, exist_ok=True)
    source, target = Path(__file__).with_name("launcher.c"), folder / "launcher"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        run(tool(program, "gcc"), "-static", "-Os", "-s", "-Wall", "-Wextra", "-Werror", "-Wno-format-truncation",
            "-o", target, source)
    return target


def licence_of(library: Path, sysroot: Path = Path("/")) -> Path | None:
    """The file with the licence of a library of the system."""
    if sysroot != Path("/"):
        names = [library.name]
        owner = next((list_file for list_file in sorted((sysroot / "packages").glob("*.list"))
                      if any(line.endswith(f"/{name}") for name in names for line in list_file.read_text().splitlines())),
                     None)
        package = owner.stem if owner else None
    else:
        done = subprocess.run(["dpkg-query", "-S", f"*/{library.name}"], capture_output=True, text=True, check=False)
        package = done.stdout.partition(":")[0].partition(",")[0] if done.returncode == 0 else None
    copyright = sysroot / f"usr/share/doc/{package}/copyright"
    return copyright if package and copyright.exists() else None
