#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian packages `cloche` and `libcloche-dev`, by dpkg-deb alone.

    packaging/deb/build.py BUILD OUT

BUILD is the build folder of which all that is installed is made; OUT gets the .deb files. The same
input gives the same packages. What the program needs of the system is found by dpkg-shlibdeps.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MAINTAINER = "Cloche <cloche@localhost>"
DESCRIPTION = """A sandbox has a shell, the usual tools, Python with its scientific packages,
and files of its own; nothing of the machine shows in it, and it has no
network but what a rule names. What runs in it is WebAssembly, or, by the
linux engine, any program of Linux. It needs no privileges."""
DEVELOPMENT = ("usr/include", "usr/lib/cmake", "usr/lib/pkgconfig", "usr/lib/libcloche.a", "usr/lib/libcloche.so")


def run(*command: str | Path, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def put(root: Path, name: str, content: str | Path, mode: int = 0o644) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path):
        shutil.copyfile(content, path)
    else:
        path.write_text(content)
    path.chmod(mode)


def architecture(build: Path) -> str:
    machine = run("readelf", "-h", build / "bin/cloche")
    return "arm64" if "AArch64" in machine else "amd64"


def needed_libraries(root: Path, arch: str) -> str:
    """What dpkg-shlibdeps says of the installed program and library."""
    work = root.parent / "shlibs"
    put(work, "debian/control", f"Source: cloche\nMaintainer: {MAINTAINER}\n\nPackage: cloche\nArchitecture: {arch}\n")
    private = root / "usr/lib/cloche"
    said = run("dpkg-shlibdeps", "-O", "--ignore-missing-info", f"-l{private}",
               f"-e{root / 'usr/bin/cloche'}", f"-e{next((root / 'usr/lib').glob('libcloche.so.*.*.*'))}",
               f"-e{private / 'cloche-unpack'}", f"-e{private / 'cloche-pull'}",
               cwd=work, env={**os.environ, "DEB_HOST_ARCH": arch})
    return re.search(r"shlibs:Depends=(.*)", said)[1]


def control(package: str, version: str, arch: str, fields: dict[str, str], size: int, summary: str) -> str:
    body = "".join(f" {line.strip()}\n" for line in DESCRIPTION.splitlines())
    more = "".join(f"{key}: {value}\n" for key, value in fields.items() if value)
    return (f"Package: {package}\nVersion: {version}\nArchitecture: {arch}\nMaintainer: {MAINTAINER}\n"
            f"Installed-Size: {size}\nPriority: optional\n{more}Description: {summary}\n{body}")


def finish(root: Path, package: str, out: Path, version: str, arch: str, fields: dict[str, str],
           summary: str) -> Path:
    documents = f"usr/share/doc/{package}"
    put(root, f"{documents}/copyright", HERE / "copyright")
    changes = (f"cloche ({version}) unstable; urgency=medium\n\n  * See docs of the source.\n\n"
               f" -- {MAINTAINER}  Thu, 01 Jan 2026 00:00:00 +0000\n")
    put(root, f"{documents}/changelog", changes)
    run("gzip", "-9n", root / documents / "changelog")
    for path in sorted(root.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    size = sum(p.lstat().st_size for p in root.rglob("*") if not p.is_dir()) // 1024 + 1
    put(root, "DEBIAN/control", control(package, version, arch, fields, size, summary))
    files = sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink() and "DEBIAN" not in p.parts)
    put(root, "DEBIAN/md5sums", "".join(f"{run('md5sum', p).split()[0]}  {p.relative_to(root)}\n" for p in files))
    target = out / f"{package}_{version}_{arch}.deb"
    env = {**os.environ, "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "1767225600")}
    # CLOCHE_DEB_COMPRESSION=none is for tests.
    how = ["-Znone"] if os.environ.get("CLOCHE_DEB_COMPRESSION") == "none" else ["-Zxz", "-z6", f"--threads-max={os.cpu_count()}"]
    run("dpkg-deb", "--root-owner-group", *how, "--build", root, target, env=env)
    return target


def add_service(root: Path) -> None:
    units = ROOT / "packaging/systemd"
    put(root, "usr/lib/systemd/system/cloche.service", units / "cloche.service")
    put(root, "usr/lib/sysusers.d/cloche.conf", units / "cloche.sysusers")
    put(root, "etc/default/cloche", units / "cloche.default")
    put(root, "etc/cloche/tokens", units / "tokens", 0o640)
    put(root, "DEBIAN/conffiles", "/etc/default/cloche\n/etc/cloche/tokens\n")
    for script in ("postinst", "prerm", "postrm"):
        put(root, f"DEBIAN/{script}", HERE / script, 0o755)
    put(root, "usr/share/cloche/systemd/linux-engine.conf", units / "linux-engine.conf")
    put(root, "usr/share/doc/cloche/README.Debian", HERE / "README.Debian")


def add_documents(root: Path) -> None:
    """What the help pages name, and a page for the program's other name."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        put(root, f"usr/share/doc/cloche/docs/{page.name}", page)
    put(root, "usr/share/man/man1/sbs.1", ".so man1/cloche-sbs.1\n")


def add_library(root: Path) -> None:
    """For programs that are linked with the library: how it is found, and what package has it."""
    library, version = re.fullmatch(r"(\w+)\.so\.(\d+\.\d+)\.\d+", next((root / "usr/lib").glob("libcloche.so.*.*.*")).name).groups()
    put(root, "DEBIAN/triggers", "activate-noawait ldconfig\n")
    put(root, "DEBIAN/shlibs", f"{library} {version} cloche (>= {version})\n")


def main(build: Path, out: Path) -> None:
    os.umask(0o022)  # the modes of what is packaged are not those of who packages
    version = (ROOT / "VERSION").read_text().strip()
    arch = architecture(build)
    work = out / ".deb"
    shutil.rmtree(work, ignore_errors=True)
    root, development = work / "cloche", work / "libcloche-dev"
    run("cmake", "--install", build, "--prefix", "/usr", "--strip", env={**os.environ, "DESTDIR": str(root)})
    for name in DEVELOPMENT:
        target = development / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (root / name).rename(target)
    add_documents(root)
    for page in (root / "usr/share/man/man1").iterdir():
        run("gzip", "-9n", page)
    out.mkdir(parents=True, exist_ok=True)
    depends = needed_libraries(root, arch)
    add_service(root)
    add_library(root)
    made = [finish(root, "cloche", out, version, arch,
                   {"Section": "utils", "Depends": f"{depends}, adduser | systemd", "Recommends": "ca-certificates",
                    "Suggests": "mmdebstrap"},
                   "private computers for agents: a shell, tools and Python in a sandbox"),
            finish(development, "libcloche-dev", out, version, arch,
                   {"Section": "libdevel", "Depends": f"cloche (= {version}), libfmt-dev, libssl-dev"},
                   "private computers for agents, in a C++ program")]
    shutil.rmtree(work)
    for path in made:
        print(f"{path.name}: {path.stat().st_size >> 20} MiB")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
