"""OpenSSL's libcrypto for guests: compiled once, for the ports that need "libcrypto" and for the cryptography package of Python.

Its archive is the one that the port quickjs pins; libcrypto.sh says what of it is made. libcrypto.a and include/ are in the folder.
"""

import os
import tomllib
from pathlib import Path

import sources
from common import USERLAND, cache_root, content_hash, install_folder, locked, run_logged, say, scratch_folder, tool

NAME = "libcrypto"
SCRIPT = USERLAND / "build" / "libcrypto.sh"
PIN = USERLAND / "ports" / "quickjs" / "port.toml"
INPUTS = (Path(__file__), SCRIPT, PIN, USERLAND / "cc")  # what its making depends on


def source():
    """The archive that it is made of: a version, a licence and a source."""
    return tomllib.loads(PIN.read_text())["extra"]["openssl"]


def key(sysroot):
    return content_hash(NAME, sysroot.name, source()["sha256"], SCRIPT, USERLAND / "cc")


def build(sysroot, server=None):
    """The folder in the cache, made when it is not there, and the CPU seconds that this took. With a job server the caller holds a
    token of it."""
    final = cache_root() / f"{NAME}-{key(sysroot)}"
    cpu_s = 0
    with locked(cache_root() / "locks" / NAME):
        if not final.exists():
            archive = sources.fetch(source())
            say("building libcrypto")
            log = cache_root() / "logs" / f"{NAME}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(b"")
            with scratch_folder(NAME) as scratch:
                tree, out = scratch / "tree", scratch / "out"
                out.mkdir()
                (scratch / "sysroot").symlink_to(sysroot)
                sources.unpack(archive, tree)
                kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
                env = kept | {"LC_ALL": "C", "SOURCE_DATE_EPOCH": "1", "CC": f"{USERLAND}/cc", "AR": tool("llvm-ar"), "RANLIB": tool("llvm-ranlib"),
                              "CLOCHE_SYSROOT": str(scratch / "sysroot"), "OUT": str(out),
                              "MAKEFLAGS": server.makeflags if server else f" -j{os.cpu_count()}"}
                cpu_s = run_logged(["sh", "-eu", SCRIPT], log, tree / "openssl", env, server.files if server else ())
                install_folder(out, final)
    os.utime(final)  # in use: see prune
    return final, cpu_s
