"""The staging folder: what all built ports bring, as one file tree with a manifest."""

import hashlib
import json
import os
import pathlib
import shutil
import tempfile

import libcxx
import musl
from common import USERLAND

# The files of the system that are no port's: who there is, what it is called, small scripts. They win over a port's.
BASE = USERLAND / "base"

# As on Debian: everything is in usr.
LINKS = {"bin": "usr/bin", "sbin": "usr/bin"}


def _entries_of(root):
    """(path, Path) of everything in a folder, folders first."""
    for folder, names, files in sorted(os.walk(root)):
        for name in sorted(names) + sorted(files):
            path = pathlib.Path(folder) / name
            yield str(path.relative_to(root)), path


def _describe(path, source, program):
    if source.is_symlink():
        return {"path": path, "type": "symlink", "target": os.readlink(source), "program": program}
    if source.is_dir():
        return {"path": path, "type": "directory", "mode": "0755"}
    executable = os.access(source, os.X_OK)
    return {"path": path, "type": "file", "mode": "0755" if executable else "0644", "size": source.stat().st_size,
            "sha256": hashlib.sha256(source.read_bytes()).hexdigest(), "program": program}


def _program(port):
    source = {key: value for key, value in port.source.items()}
    patches = [f"userland/ports/{port.folder.name}/patches/{p.name}"
               for p in sorted((port.folder / "patches").glob("*.patch"))]
    return {"name": port.name, "version": port.version, "licence": port.licence, "commands": list(port.commands),
            "source": source, "parts": [{"name": name, **part} for name, part in sorted(port.extra.items())],
            "recipe": f"userland/ports/{port.folder.name}", "patches": patches}


def _libraries():
    """What is linked into programs beside their own sources."""
    llvm = {"kind": "debian", "package": "libclang-rt-22-dev-wasm32"}
    return [
        {"name": "musl", "version": "1.2.5", "licence": "MIT", "source": musl.SOURCE},
        {"name": "compiler-rt", "version": "22", "licence": "Apache-2.0 WITH LLVM-exception", "source": llvm},
        {"name": "libc++, libc++abi, libunwind", "version": libcxx.SOURCE["version"],
         "licence": "Apache-2.0 WITH LLVM-exception", "source": libcxx.SOURCE},
    ]


def make_manifest(built_ports):
    """The manifest over (port, built folder) pairs, and where each file of it comes from."""
    entries, origin = {}, {}
    for link, target in LINKS.items():
        entries[link] = {"path": link, "type": "symlink", "target": target}
    folders = [(port.name, built) for port, built in sorted(built_ports, key=lambda pair: pair[0].priority)]
    folders.append(("cloche", BASE))
    for program, folder in folders:
        for path, source in _entries_of(folder):
            entries[path] = _describe(path, source, program)
            origin[path] = source
    manifest = {"format": 1, "entries": [entries[path] for path in sorted(entries)],
                "programs": [_program(port) for port, _ in sorted(built_ports, key=lambda pair: pair[0].name)],
                "libraries": _libraries()}
    return manifest, origin


def stage(built_ports, out):
    """Makes the folder `out` anew: the tree, and manifest.json beside it. Never half-made."""
    manifest, origin = make_manifest(built_ports)
    out = pathlib.Path(out).absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    for entry in manifest["entries"]:
        target = made / entry["path"]
        if entry["type"] == "directory":
            target.mkdir(exist_ok=True)
        elif entry["type"] == "symlink":
            target.symlink_to(entry["target"])
        else:
            shutil.copyfile(origin[entry["path"]], target)
            target.chmod(int(entry["mode"], 8))
    (made / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    made.chmod(0o755)
    shutil.rmtree(out, ignore_errors=True)
    os.rename(made, out)
