"""The staging folder: what all built ports bring, laid out as src/sandbox/system_folder.h says."""

import json
import os
import pathlib
import shutil
import tempfile

import libcxx
import musl
from common import USERLAND, BuildError, content_hash

# The files of the system that are no port's: who there is, what it is called, small scripts. They win over a port's.
BASE = USERLAND / "base"

# As on Debian: everything is in usr.
LINKS = {"bin": "usr/bin", "sbin": "usr/bin"}

WASM_MAGIC = b"\0asm"


def _entries_of(root):
    """(path, Path) of everything in a folder, folders first."""
    for folder, names, files in sorted(os.walk(root)):
        for name in sorted(names) + sorted(files):
            path = pathlib.Path(folder) / name
            yield str(path.relative_to(root)), path


def _is_program(source):
    with source.open("rb") as file:
        return file.read(len(WASM_MAGIC)) == WASM_MAGIC


def _write_entry(path, source, index, pack, folder):
    """A line of system.index, and the bytes that go with it."""
    mode = f"{0o755 if os.access(source, os.X_OK) else 0o644:o}"
    if source.is_symlink():
        fields = ["l", os.readlink(source)]
    elif source.is_dir():
        fields = ["d", "755"]
    elif _is_program(source):
        fields = ["p", mode]
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    else:
        content = source.read_bytes()
        fields = ["f", mode, str(pack.tell()), str(len(content))]
        pack.write(content)
    line = "\t".join([*fields, path])
    if line.count("\t") != len(fields) or "\n" in line:
        raise BuildError(f"{path!r}: a path of the system has no tabs or line ends")
    index.write(line + "\n")


def _program(port):
    source = {key: value for key, value in port.source.items()}
    patches = [f"userland/ports/{port.folder.name}/patches/{p.name}"
               for p in sorted((port.folder / "patches").glob("*.patch"))]
    return {"name": port.name, "version": port.version, "licence": port.licence, "commands": list(port.commands),
            "source": source, "parts": [{"name": name, **part} for name, part in port.parts().items()],
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


def _tree(built_ports):
    """Every path of the system and where it comes from; of two ports that bring the same the one of higher priority wins. A
    BuildError where both have the same priority: which of them wins must not be the order in which they were built."""
    tree, bringer = {}, {}
    for port, folder in sorted(built_ports, key=lambda pair: (pair[0].priority, pair[0].name)):
        for path, source in _entries_of(folder):
            other = bringer.get(path)
            if other and other.priority == port.priority and not source.is_dir():
                raise BuildError(f"{other.name} and {port.name} both bring {path}: give one of them another priority in its port.toml")
            tree[path], bringer[path] = source, port
    tree.update(_entries_of(BASE))
    return tree


def _manifest(built_ports):
    return {"programs": [_program(port) for port, _ in sorted(built_ports, key=lambda pair: pair[0].name)],
            "libraries": _libraries()}


def folder_to_stage_in(out):
    """Where `--out` leads to; a BuildError where that is no place for a staging folder, which is made anew each time."""
    out = pathlib.Path(out).resolve()
    if out.exists() and not out.is_dir():
        raise BuildError(f"--out {out} is a file: name a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / "system.index").exists():
        raise BuildError(f"--out {out} has files that no earlier build staged there: name another folder, or empty it")
    return out


def _stamp(built_ports):
    """Names all that a staging folder is made of."""
    return content_hash("stage", BASE, pathlib.Path(__file__).resolve(), json.dumps(_manifest(built_ports)),
                        *sorted(folder.name for _, folder in built_ports))


def stage(built_ports, out):
    """Makes the folder `out`, which folder_to_stage_in gave, of the ports; whether it had to. Never half-made, and left alone where it
    is made of the same."""
    stamp, stamp_file = _stamp(built_ports), out.with_name(f".{out.name}.stamp")
    if (out / "system.index").exists() and stamp_file.exists() and stamp_file.read_text() == stamp:
        return False
    out.parent.mkdir(parents=True, exist_ok=True)
    stamp_file.unlink(missing_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    with (made / "system.index").open("w") as index, (made / "files.pack").open("wb") as pack:
        index.write("cloche-system 2\n")
        for link, target in LINKS.items():
            index.write(f"l\t{target}\t{link}\n")
        for path, source in sorted(_tree(built_ports).items()):
            _write_entry(path, source, index, pack, made)
    (made / "manifest.json").write_text(json.dumps(_manifest(built_ports), indent=1) + "\n")
    made.chmod(0o755)
    shutil.rmtree(out, ignore_errors=True)
    os.rename(made, out)
    stamp_file.write_text(stamp)
    return True
