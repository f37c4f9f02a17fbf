"""Ports: a folder with a port.toml and a build.sh makes guest programs from upstream archives.

port.toml: name, version, licence, groups, priority (the higher one wins where two ports bring the same path),
commands (names that must be in usr/bin after the build), needs ("c++" when it uses CXX, "libcrypto" when it uses LIBCRYPTO), [source]
(see sources.py), and an [extra.NAME] table for each further archive (a library that is linked in): a source table with version and
licence of its own. A [source.patches] table (or [extra.NAME.patches]) of a Debian package has patches of that package, by name and
SHA-256, in the order in which they are applied: mends that a stable release got, where this C library and this kernel have a use for
them.
build.sh runs in the unpacked source, after those, patches/*.patch and edit.py (see edits.py), with CC, CXX, AR, RANLIB, NM, STRIP, HOST and
CONFIG_SITE (for configure), PORT (the port's folder), EXTRA (the folder in which the further archives are unpacked, by NAME), LIBCRYPTO
(the folder that libcrypto.py makes) and OUT, where it puts usr/bin and usr/share.
edit.py has EXTRA too. A make in build.sh is not told -j: it has its jobs from the build's job server (jobs.py).
pkg-config finds nothing of the build machine: PKG_CONFIG_LIBDIR is a folder of the port's own, in which it may put what it built itself.
"""

import dataclasses
import os
import pathlib
import sys
import tomllib

import libcrypto
import sources
from common import (USERLAND, BuildError, cache_root, ccache_if_built_before, content_hash, install_folder, locked,
                    run_logged, say, scratch_folder, tool)

HOST_TRIPLE = "wasm32-unknown-linux-musl"

# What every configure script would otherwise find out anew.
CONFIG_SITE = USERLAND / "build" / "config.site"

# Part of every port's hash: raised when what a build.sh is given changes.
BUILD_INTERFACE = 2


@dataclasses.dataclass(frozen=True)
class Port:
    folder: pathlib.Path
    name: str
    version: str
    licence: str
    groups: tuple
    priority: int
    commands: tuple
    source: dict
    needs: tuple
    extra: dict


def _extra_of(recipe):
    extra = recipe.get("extra", {})
    for part in extra.values():
        part["version"], part["licence"]  # KeyError: a part that a list of licences could not tell
    return extra


def load(folder):
    path = folder / "port.toml"
    try:
        recipe = tomllib.loads(path.read_text())
        return Port(folder, recipe["name"], recipe["version"], recipe["licence"], tuple(recipe["groups"]),
                    recipe.get("priority", 0), tuple(recipe["commands"]), recipe["source"],
                    tuple(recipe.get("needs", ())), _extra_of(recipe))
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise BuildError(f"{path} is no valid recipe: {error}") from error


def load_all():
    return [load(path.parent) for path in sorted((USERLAND / "ports").glob("*/port.toml"))]


@dataclasses.dataclass(frozen=True)
class Toolchain:
    """The folders that userland/cc and userland/cxx work with; cxxroot is None where no port needs C++."""
    sysroot: pathlib.Path
    cxxroot: pathlib.Path


def needs_cxx(port):
    return "c++" in port.needs


def needs_libcrypto(port):
    return "libcrypto" in port.needs


def key_of(port, toolchain):
    crypto = (libcrypto.key(toolchain.sysroot),) if needs_libcrypto(port) else ()
    cxx = (toolchain.cxxroot.name, USERLAND / "cxx") if needs_cxx(port) else ()
    return content_hash("port", BUILD_INTERFACE, toolchain.sysroot.name, port.folder, USERLAND / "cc",
                        CONFIG_SITE, *cxx, *crypto)


def _environment(port, toolchain, scratch, server):
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "CCACHE_DIR", "CLOCHE_CACHE") if name in os.environ}
    return keep | {
        "LC_ALL": "C", "TZ": "UTC", "SOURCE_DATE_EPOCH": "1",
        "CLOCHE_SYSROOT": str(scratch / "sysroot"), "CLOCHE_CXXROOT": str(scratch / "cxxroot"), "PORT": str(port.folder),
        "LIBCRYPTO": str(scratch / "libcrypto"), "OUT": str(scratch / "out"), "EXTRA": str(scratch / "extra"), "MAKEFLAGS": server.makeflags,
        "PKG_CONFIG_LIBDIR": str(scratch / "pkgconfig"),
        "HOST": HOST_TRIPLE, "CONFIG_SITE": str(CONFIG_SITE), "CONFIG_SHELL": "/bin/sh", "CC": f"{USERLAND}/cc", "CXX": f"{USERLAND}/cxx",
        "AR": tool("llvm-ar"), "RANLIB": tool("llvm-ranlib"), "NM": tool("llvm-nm"), "STRIP": tool("llvm-strip"),
        "CLOCHE_CCACHE": ccache_if_built_before(port.name),
    }


def _folder_of(port, toolchain):
    return cache_root() / f"{port.name}-{key_of(port, toolchain)}"


def _check(port, out, log):
    missing = [name for name in port.commands if not os.path.lexists(out / "usr" / "bin" / name)]
    if missing:
        raise BuildError(f"port {port.name} built, but without {', '.join(missing)}", log)


def is_built(port, toolchain):
    return _folder_of(port, toolchain).exists()


def build(port, toolchain, server):
    """The port's folder in the cache, built when it is not there, and the CPU seconds that this took. What is fetched for it comes
    before it waits for a token of the job server."""
    final = _folder_of(port, toolchain)
    cpu_s = 0
    with locked(cache_root() / "locks" / port.name):
        if final.exists():
            os.utime(final)  # in use: see prune
            return final, cpu_s
        archive = sources.fetch(port.source)
        extra = {name: sources.fetch(part) for name, part in port.extra.items()}
        for part in (port.source, *port.extra.values()):
            sources.fetch_patches(part)
        with server.token():
            cpu_s = _build(port, toolchain, server, archive, extra, final)
    return final, cpu_s


def _build(port, toolchain, server, archive, extra, final):
    say(f"building {port.name} {port.version}")
    log = cache_root() / "logs" / f"{port.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    with scratch_folder(port.name) as scratch:
        tree, out = scratch / "src", scratch / "out"
        (out / "usr" / "bin").mkdir(parents=True)
        (scratch / "pkgconfig").mkdir()
        (scratch / "sysroot").symlink_to(toolchain.sysroot)
        if toolchain.cxxroot:
            (scratch / "cxxroot").symlink_to(toolchain.cxxroot)
        sources.unpack(archive, tree)
        sources.apply(sources.fetch_patches(port.source), log, tree)
        for name, further in extra.items():
            sources.unpack(further, scratch / "extra" / name)
            sources.apply(sources.fetch_patches(port.extra[name]), log, scratch / "extra" / name)
        library_cpu_s = 0
        if needs_libcrypto(port):
            library, library_cpu_s = libcrypto.build(toolchain.sysroot, server)
            (scratch / "libcrypto").symlink_to(library)
        sources.apply(sorted((port.folder / "patches").glob("*.patch")), log, tree)
        if (port.folder / "edit.py").exists():
            run_logged([sys.executable, "-B", port.folder / "edit.py"], log, tree,
                       dict(os.environ, PYTHONPATH=str(USERLAND / "build"), EXTRA=str(scratch / "extra")))
        cpu_s = run_logged(["sh", "-eu", port.folder / "build.sh"], log, tree,
                           _environment(port, toolchain, scratch, server), server.files)
        _check(port, out, log)
        install_folder(out, final)
    return cpu_s + library_cpu_s
