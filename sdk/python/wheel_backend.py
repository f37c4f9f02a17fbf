# SPDX-License-Identifier: Apache-2.0
"""Builds the wheels (PEP 517, PEP 660), with the standard library alone.

`make wheel` is `wheel_backend.py FOLDER`, which makes what an index takes, no file of which has over
100 MB: `cloche` (the packages in src/, the server's program and all shared libraries that it needs, the
C library too), and the wheels that it depends on, `cloche-system` (the guests' system) and `cloche-code`
(machine code for it), with `-2`, `-3` ... of these where one would be too large. They are installed into one
folder. As a backend of pip it makes one wheel of all that. Settings, by environment (or by
`--config-settings` in lower case without the prefix):

    CLOCHE_BUILD         the build folder with bin/cloche (build/ of the source tree)
    CLOCHE_ROOTFS        the guests' system (rootfs/ of the build folder)
    CLOCHE_CODE          machine code for it, by `cloche prepare --ship`; "none" for wheels without;
                         absent: what `packaging/machine_code` left in the build folder, if anything
    CLOCHE_SYSROOT       where the libraries of a program for another machine are
    CLOCHE_WHEEL_LEVEL   how much to compress, 0 to 9 (1)
"""
from __future__ import annotations

import base64
import concurrent.futures
import csv
import hashlib
import io
import os
import sys
import time
import zipfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "packaging/portable"))
import elf  # noqa: E402

NAME, VERSION = "cloche", (ROOT / "VERSION").read_text().strip()
RUNTIME = "cloche/_runtime"
SUMMARY = "Private computers for agents: a shell, tools, Python and files in a sandbox, from Python"
# As pyproject.toml has them.
EXTRAS = {"sessions": ["requests>=2.28", "paramiko>=3.0"], "inspect": ["inspect_ai>=0.3.285"],
          "mini-swe-agent": ["mini-swe-agent>=2.4"], "swe-rex": ["swe-rex>=1.4"],
          "deepagents": ["deepagents>=0.7"], "smolagents": ["smolagents>=1.26"],
          "google-adk": ["google-adk>=2.13"], "tinker-cookbook": ["tinker-cookbook>=0.6"],
          "openai-agents": ["openai-agents>=0.24"], "nemo-gym": ["nemo-gym>=0.4"],
          "harbor": ["harbor>=0.24"], "ray": ["ray>=2.40"]}
EPOCH = (2020, 1, 1, 0, 0, 0)  # the same input gives the same wheel
MOST_BYTES = 95_000_000  # of a wheel for an index, which takes 100 MB


def setting(name: str, settings: dict | None) -> str | None:
    return (settings or {}).get(name.removeprefix("CLOCHE_").lower()) or os.environ.get(name)


class Wheel:
    """A wheel file that is being written; its name is known at the end."""

    def __init__(self, folder: Path, package: str, level: int) -> None:
        self.folder, self.package = Path(folder), package
        self.info = f"{package.replace('-', '_')}-{VERSION}.dist-info"
        self.part = self.folder / f".{package}-{os.getpid()}.part"
        self.record: list[tuple[str, str, int]] = []
        method = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
        self.zip = zipfile.ZipFile(self.part, "w", method, compresslevel=level or None)
        self.method = method
        self.level = level

    def __enter__(self) -> Wheel:
        return self

    def __exit__(self, *_) -> None:
        self.zip.close()
        self.part.unlink(missing_ok=True)

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

    def close(self, tag: str) -> str:
        rows = io.StringIO()
        writer = csv.writer(rows, lineterminator="\n")
        writer.writerows(self.record)
        writer.writerow((f"{self.info}/RECORD", "", ""))
        self.zip.writestr(zipfile.ZipInfo(f"{self.info}/RECORD", EPOCH), rows.getvalue())
        self.zip.close()
        name = f"{self.package.replace('-', '_')}-{VERSION}-py3-none-{tag}.whl"
        self.part.replace(self.folder / name)
        return name

    def add_info(self, tag: str, needs: list[str], *, scripts: bool) -> None:
        lines = ["Metadata-Version: 2.1", f"Name: {self.package}", f"Version: {VERSION}", f"Summary: {SUMMARY}",
                 "License: Apache-2.0; the guests' programs as `cloche licenses` says", "Requires-Python: >=3.9",
                 *(f"Requires-Dist: {need}=={VERSION}" for need in needs)]
        if scripts:
            for extra, wanted in EXTRAS.items():
                lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {one}; extra == "{extra}"' for one in wanted)]
            self.add(f"{self.info}/entry_points.txt",
                     b"[console_scripts]\ncloche = cloche._scripts:cloche\nsbs = cloche._scripts:sbs\n"
                     b"session-based-sandbox = cloche._scripts:session_based_sandbox\n"
                     b"[inspect_ai]\ncloche = cloche.adapters.inspect_ai\n"
                     b"[nemo_gym.sandbox_providers]\ncloche = cloche.adapters.nemo_gym:ClocheProvider\n")
        self.add(f"{self.info}/METADATA", ("\n".join(lines) + "\n").encode())
        tags = "".join(f"Tag: py3-none-{one}\n" for one in tag.split("."))
        self.add(f"{self.info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: cloche\nRoot-Is-Purelib: false\n{tags}".encode())
        if (ROOT / "LICENSE").exists():
            self.add(f"{self.info}/licenses/LICENSE", ROOT / "LICENSE")


def build_folder(settings: dict | None) -> Path:
    build = Path(setting("CLOCHE_BUILD", settings) or ROOT / "build").resolve()
    if not (build / "bin/cloche").exists():
        raise SystemExit(f"{build}/bin/cloche is not there: run `make` first, or set CLOCHE_BUILD")
    return build


def platform_tag(build: Path) -> str:
    """The program comes with its C library: it runs beside any other, glibc or musl. The oldest tag that
    installers of each kind know for both machines."""
    machine = elf.machine_of(build / "bin/cloche")
    return f"manylinux_2_17_{machine}.musllinux_1_1_{machine}"


def system_files(build: Path, settings: dict | None) -> dict[str, Path]:
    rootfs = Path(setting("CLOCHE_ROOTFS", settings) or build / "rootfs").resolve()
    index = [line.split("\t") for line in (rootfs / "system.index").read_text().splitlines()]
    names = {fields[-1] for fields in index if fields[0] == "p"}
    names |= {path.name for path in rootfs.iterdir() if path.is_file() and not path.is_symlink()}
    return {f"{RUNTIME}/rootfs/{name}": rootfs / name for name in sorted(names)}


def code_files(build: Path, settings: dict | None) -> dict[str, Path]:
    """Machine code for the system; nothing where there is none."""
    given = setting("CLOCHE_CODE", settings)
    code = Path(given) if given else build / "machine-code"
    if given == "none" or (not given and not (code / "index").exists()):
        return {}
    return {f"{RUNTIME}/code/{path.name}": path for path in sorted(code.iterdir())}


def add_program(wheel: Wheel, build: Path, settings: dict | None) -> None:
    """The program, its libraries and its loader, as launcher.c says."""
    sysroot = Path(setting("CLOCHE_SYSROOT", settings) or "/")
    binary, parts = build / "bin/cloche", build / "wheel-parts"
    launcher = elf.make_launcher(binary, parts)
    # By the second name the program is the compiler of what guests bring.
    for name in ("cloche", "cloche-compile"):
        wheel.add(f"{RUNTIME}/bin/{name}", launcher, executable=True)
    wheel.add(f"{RUNTIME}/lib/program", elf.strip(binary, parts), executable=True)
    asked, loader = elf.loader_of(binary, sysroot)
    wheel.add(f"{RUNTIME}/lib/cloche", loader, executable=True)
    for name, path in elf.libraries_of(binary, sysroot).items():
        if name != Path(asked).name:
            wheel.add(f"{RUNTIME}/lib/{name}", path)


def add_packages(wheel: Wheel) -> None:
    for path in sorted(SOURCES.rglob("*")):
        inside = path.relative_to(SOURCES)
        if path.is_file() and "__pycache__" not in inside.parts and path.suffix in (".py", ".typed") \
                and not any(part.endswith(".egg-info") for part in inside.parts):
            if inside == Path("cloche/_version.py"):
                wheel.add(str(inside), f'"""The version of this package."""\n__version__ = "{VERSION}"\n'.encode())
            else:
                wheel.add(str(inside), path)


def report(folder: Path, name: str, begin: float) -> str:
    size = (Path(folder) / name).stat().st_size
    print(f"{name}: {size / 1e6:.0f} MB in {time.monotonic() - begin:.0f} s", flush=True)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    begin, build = time.monotonic(), build_folder(config_settings)
    tag = platform_tag(build)
    with Wheel(wheel_directory, NAME, int(setting("CLOCHE_WHEEL_LEVEL", config_settings) or 1)) as wheel:
        add_packages(wheel)
        add_program(wheel, build, config_settings)
        for name, path in {**system_files(build, config_settings), **code_files(build, config_settings)}.items():
            wheel.add(name, path)
        wheel.add_info(tag, [], scripts=True)
        return report(wheel_directory, wheel.close(tag), begin)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel that points at src/: the program is the source tree's."""
    with Wheel(wheel_directory, NAME, 6) as wheel:
        wheel.add(f"{NAME}-src.pth", f"{SOURCES}\n".encode())
        wheel.add_info("any", [], scripts=True)
        return wheel.close("any")


def compressed_bytes(path: Path, level: int) -> int:
    if not level:
        return path.stat().st_size
    engine, size = zlib.compressobj(level, zlib.DEFLATED, -15), 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            size += len(engine.compress(block))
    return size + len(engine.flush())


def in_bins(files: dict[str, Path], level: int, most: int) -> list[dict[str, Path]]:
    """The files, so that what each bin holds is small enough when compressed; large ones first."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sizes = dict(zip(files, pool.map(lambda path: compressed_bytes(path, level) + 500, files.values())))
    bins: list[tuple[int, dict[str, Path]]] = []
    for name in sorted(files, key=lambda name: (-sizes[name], name)):
        if sizes[name] > most:
            raise SystemExit(f"{name} has {sizes[name]} bytes in a wheel, and a whole wheel may have {most}")
        at = next((i for i, (size, _) in enumerate(bins) if size + sizes[name] <= most), len(bins))
        if at == len(bins):
            bins.append((0, {}))
        bins[at][1][name] = files[name]
        bins[at] = (bins[at][0] + sizes[name], bins[at][1])
    return [held for _, held in bins]


def build_wheels(folder: Path, most: int = MOST_BYTES) -> list[str]:
    """The wheels for an index; their names."""
    level, build = int(setting("CLOCHE_WHEEL_LEVEL", None) or 6), build_folder(None)
    platform, made, needs = platform_tag(build), [], []
    most = most if level else sys.maxsize  # what is not compressed is not for an index
    for package, tag, files in (("cloche-system", "any", system_files(build, None)),
                                ("cloche-code", platform, code_files(build, None))):
        for number, held in enumerate(in_bins(files, level, most), 1):
            begin, name = time.monotonic(), package if number == 1 else f"{package}-{number}"
            with Wheel(folder, name, level) as wheel:
                for inside, path in sorted(held.items()):
                    wheel.add(inside, path)
                wheel.add_info(tag, [], scripts=False)
                made.append(report(folder, wheel.close(tag), begin))
            needs.append(name)
    begin = time.monotonic()
    with Wheel(folder, NAME, level) as wheel:
        add_packages(wheel)
        add_program(wheel, build, None)
        wheel.add_info(platform, needs, scripts=True)
        made.append(report(folder, wheel.close(platform), begin))
    return made


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    build_wheels(Path(sys.argv[1]))
