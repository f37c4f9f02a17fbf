"""Builds the wheel (PEP 517, PEP 660), with the standard library alone.

The wheel is self-contained: the packages in src/, the server's program with the shared libraries that
glibc does not bring, the guests' system, and machine code for it. Settings, by environment (or by
`--config-settings` in lower case without the prefix):

    CLOCHE_BUILD         the build folder with bin/cloche (build/ of the source tree)
    CLOCHE_ROOTFS        the guests' system (rootfs/ of the build folder)
    CLOCHE_CODE          machine code for it, by `cloche prepare --ship`; "none" for a wheel without;
                         absent: what `make wheel` left in the build folder, if anything
    CLOCHE_WHEEL_LEVEL   how much to compress, 0 to 9 (1)

`make wheel` is `wheel_backend.py FOLDER`: it makes the machine code first, which takes minutes, and
compresses more.
"""
from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import platform
import re
import subprocess
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
ROOT = HERE.parent.parent
NAME, VERSION = "cloche", re.search(r'__version__ = "(.+)"', (SOURCES / "cloche/__init__.py").read_text())[1]
INFO = f"{NAME}-{VERSION}.dist-info"
RUNTIME = "cloche/_runtime"
# What every Linux has with its C library.
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libresolv.so.2",
         "linux-vdso.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
SUMMARY = "Private computers for agents: a shell, tools, Python and files in a sandbox, from Python"
EPOCH = (2020, 1, 1, 0, 0, 0)  # the same input gives the same wheel


def setting(name: str, settings: dict | None) -> str | None:
    return (settings or {}).get(name.removeprefix("CLOCHE_").lower()) or os.environ.get(name)


class Wheel:
    """A wheel file that is being written."""

    def __init__(self, path: Path, level: int) -> None:
        self.record: list[tuple[str, str, int]] = []
        method = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
        self.zip = zipfile.ZipFile(path, "w", method, compresslevel=level or None)
        self.method = method
        self.level = level

    def add(self, name: str, source: Path | bytes, executable: bool = False) -> None:
        info = zipfile.ZipInfo(name, EPOCH)
        info.compress_type = self.method
        info._compresslevel = self.level
        info.external_attr = (0o100755 if executable else 0o100644) << 16
        digest, size = hashlib.sha256(), 0
        stream = io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb")
        with stream, self.zip.open(info, "w", force_zip64=False) as out:
            while block := stream.read(1 << 20):
                digest.update(block)
                size += len(block)
                out.write(block)
        text = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
        self.record.append((name, f"sha256={text}", size))

    def close(self) -> None:
        rows = io.StringIO()
        writer = csv.writer(rows, lineterminator="\n")
        writer.writerows(self.record)
        writer.writerow((f"{INFO}/RECORD", "", ""))
        self.zip.writestr(zipfile.ZipInfo(f"{INFO}/RECORD", EPOCH), rows.getvalue())
        self.zip.close()


def run(*command: str, **options) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.stdout


def libraries_of(binary: Path) -> dict[str, Path]:
    """Name to file of the shared libraries that a machine may lack."""
    found = {}
    for line in run("ldd", str(binary)).splitlines():
        if "not found" in line:
            raise SystemExit(f"{binary} lacks a library:{line}")
        if match := re.match(r"\s*(\S+) => (/\S+)", line):
            if match[1] not in GLIBC:
                found[match[1]] = Path(match[2])
    return found


def least_glibc(files: list[Path]) -> tuple[int, int]:
    """The oldest glibc that has all that the files ask of it."""
    versions = {(2, 17)}
    for file in files:
        for match in re.finditer(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", str(file))):
            versions.add((int(match[1]), int(match[2])))
    return max(versions)


def strip(source: Path, folder: Path) -> Path:
    """A copy without debug information, beside others in the build folder."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / source.name
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        run("strip", "--strip-debug", "-o", str(target), str(source))
    return target


def shipped_code(build: Path, settings: dict | None) -> Path | None:
    """The folder of machine code for the system."""
    given = setting("CLOCHE_CODE", settings)
    if given == "none":
        return None
    if given:
        return Path(given)
    code = build / "wheel-code"
    return code if (code / "index").exists() else None


def make_code() -> None:
    """Compiles what the build folder's machine code lacks."""
    build = Path(setting("CLOCHE_BUILD", None) or ROOT / "build").resolve()
    rootfs = Path(setting("CLOCHE_ROOTFS", None) or build / "rootfs").resolve()
    index = build / "wheel-code/index"
    newest = max(p.stat().st_mtime for p in (rootfs / "system.index", build / "bin/cloche"))
    if not index.exists() or index.stat().st_mtime < newest:
        subprocess.run([build / "bin/cloche", "prepare", "--ship", index.parent], check=True,
                       env={**os.environ, "CLOCHE_ROOTFS": str(rootfs)})


def add_runtime(wheel: Wheel, settings: dict | None) -> str:
    """The program, its libraries, the system and its code; the platform tag that they give."""
    build = Path(setting("CLOCHE_BUILD", settings) or ROOT / "build").resolve()
    binary = build / "bin/cloche"
    if not binary.exists():
        raise SystemExit(f"{binary} is not there: run `make` first, or set CLOCHE_BUILD")
    rootfs = Path(setting("CLOCHE_ROOTFS", settings) or build / "rootfs").resolve()
    stripped = build / "wheel-parts"
    program = strip(binary, stripped)
    wheel.add(f"{RUNTIME}/bin/cloche", program, executable=True)
    libraries = libraries_of(binary)
    for name, path in sorted(libraries.items()):
        wheel.add(f"{RUNTIME}/lib/{name}", path.resolve())
    index = [line.split("\t") for line in (rootfs / "system.index").read_text().splitlines()]
    files = {fields[-1] for fields in index if fields[0] == "p"}
    files |= {path.name for path in rootfs.iterdir() if path.is_file() and not path.is_symlink()}
    for name in sorted(files):
        wheel.add(f"{RUNTIME}/rootfs/{name}", rootfs / name)
    code = shipped_code(build, settings)
    for path in sorted(code.iterdir()) if code else []:
        wheel.add(f"{RUNTIME}/code/{path.name}", path)
    major, minor = least_glibc([program, *libraries.values()])
    return f"manylinux_{major}_{minor}_{platform.machine()}"


def add_packages(wheel: Wheel) -> None:
    for path in sorted(SOURCES.rglob("*")):
        inside = path.relative_to(SOURCES)
        if path.is_file() and "__pycache__" not in inside.parts and path.suffix in (".py", ".typed") \
                and not any(part.endswith(".egg-info") for part in inside.parts):
            wheel.add(str(inside), path)


def metadata() -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {NAME}", f"Version: {VERSION}", f"Summary: {SUMMARY}",
             "Requires-Python: >=3.9", "Provides-Extra: sessions",
             'Requires-Dist: requests>=2.28; extra == "sessions"',
             'Requires-Dist: paramiko>=3.0; extra == "sessions"']
    return ("\n".join(lines) + "\n").encode()


def add_info(wheel: Wheel, tag: str) -> None:
    wheel.add(f"{INFO}/METADATA", metadata())
    wheel.add(f"{INFO}/WHEEL", (f"Wheel-Version: 1.0\nGenerator: cloche\nRoot-Is-Purelib: false\n"
                                f"Tag: py3-none-{tag}\n").encode())
    wheel.add(f"{INFO}/entry_points.txt",
              b"[console_scripts]\ncloche = cloche._scripts:cloche\nsbs = cloche._scripts:sbs\n"
              b"session-based-sandbox = cloche._scripts:session_based_sandbox\n")
    license_file = ROOT / "LICENSE"
    if license_file.exists():
        wheel.add(f"{INFO}/licenses/LICENSE", license_file)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    part = Path(wheel_directory) / f".{NAME}-{os.getpid()}.part"
    begin = time.monotonic()
    wheel = Wheel(part, int(setting("CLOCHE_WHEEL_LEVEL", config_settings) or 1))
    try:
        add_packages(wheel)
        tag = add_runtime(wheel, config_settings)
        add_info(wheel, tag)
        wheel.close()
        name = f"{NAME}-{VERSION}-py3-none-{tag}.whl"
        part.replace(Path(wheel_directory) / name)
    finally:
        part.unlink(missing_ok=True)
    size = (Path(wheel_directory) / name).stat().st_size
    print(f"{name}: {size >> 20} MiB in {time.monotonic() - begin:.0f} s")
    return name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel that points at src/: the program is the source tree's."""
    name = f"{NAME}-{VERSION}-py3-none-any.whl"
    wheel = Wheel(Path(wheel_directory) / name, 6)
    wheel.add(f"{NAME}-src.pth", f"{SOURCES}\n".encode())
    add_info(wheel, "any")
    wheel.close()
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


if __name__ == "__main__":
    import sys
    os.makedirs(sys.argv[1], exist_ok=True)
    os.environ.setdefault("CLOCHE_WHEEL_LEVEL", "6")
    if "CLOCHE_CODE" not in os.environ:
        make_code()
    build_wheel(sys.argv[1])
