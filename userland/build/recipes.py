"""What recipes of guest programs (ports.py) and of libraries (libraries.py) have in common: how they are read, and what a build.sh is given."""

import os
import sys
import tomllib

import sources
from common import USERLAND, BuildError, ccache_if_built_before, run_logged, tool

HOST_TRIPLE = "wasm32-unknown-linux-musl"

# What every configure script would otherwise find out anew.
CONFIG_SITE = USERLAND / "build" / "config.site"

# Part of what names a thing that was built: raised when what a build.sh is given changes.
BUILD_INTERFACE = 2
TOOLS = (USERLAND / "cc", CONFIG_SITE)  # so is this


def read(path, made_of):
    """What `made_of` makes of a recipe's table; a BuildError where the file is none, or lacks something."""
    try:
        return made_of(tomllib.loads(path.read_text()))
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise BuildError(f"{path} is no valid recipe: {error}") from error


def fetch(source):
    """An archive and its patches, in the cache when this returns."""
    sources.fetch(source)
    sources.fetch_patches(source)


def unpack(source, into, log):
    """An archive that was fetched, with the patches that its table names."""
    sources.unpack(sources.fetch(source), into)
    sources.apply(sources.fetch_patches(source), log, into)


def change(tree, folder, log, extra=None):
    """Our changes of an unpacked archive: the recipe's patches, in the order of their names, then its edit.py (see edits.py)."""
    sources.apply(sorted((folder / "patches").glob("*.patch")), log, tree)
    if (folder / "edit.py").exists():
        env = dict(os.environ, PYTHONPATH=str(USERLAND / "build")) | ({"EXTRA": str(extra)} if extra else {})
        run_logged([sys.executable, "-B", folder / "edit.py"], log, tree, env)


def environment(name, sysroot, scratch, makeflags):
    """What every build.sh has; `scratch` gets what its paths lead to."""
    (scratch / "out").mkdir()
    (scratch / "sysroot").symlink_to(sysroot)
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "CCACHE_DIR", "CLOCHE_CACHE") if name in os.environ}
    return keep | {
        "LC_ALL": "C", "TZ": "UTC", "SOURCE_DATE_EPOCH": "1", "CLOCHE_SYSROOT": str(scratch / "sysroot"), "OUT": str(scratch / "out"),
        "MAKEFLAGS": makeflags, "HOST": HOST_TRIPLE, "CONFIG_SITE": str(CONFIG_SITE), "CONFIG_SHELL": "/bin/sh", "CC": f"{USERLAND}/cc",
        "AR": tool("llvm-ar"), "RANLIB": tool("llvm-ranlib"), "NM": tool("llvm-nm"), "STRIP": tool("llvm-strip"),
        "CLOCHE_CCACHE": ccache_if_built_before(name),
    }
