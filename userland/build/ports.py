"""Ports: a folder with a port.toml and a build.sh makes guest programs from upstream archives.

port.toml: name, version, licence, groups, priority (the higher one wins where two ports bring the same path), commands (names that must
be in usr/bin after the build), needs ("c++" when it uses CXX, else libraries by their names), [source] (see sources.py; or
`library = NAME`, for the archive that a library is made of), and an [extra.NAME] table for each further archive: a source table with
version and licence of its own. A [source.patches] table (or [extra.NAME.patches]) of a Debian package has patches of that package, by
name and SHA-256, in the order in which they are applied: mends that a stable release got, where this C library and this kernel have a
use for them.
build.sh runs in the unpacked source, after those, patches/*.patch and edit.py (see edits.py), with CC, CXX, AR, RANLIB, NM, STRIP, HOST and
CONFIG_SITE (for configure), PORT (the port's folder), EXTRA (the folder in which the further archives are unpacked, by NAME), LIBRARIES
(the folder that has the libraries, by their names: see libraries.py) and OUT, where it puts usr/bin and usr/share.
edit.py has EXTRA too. A make in build.sh is not told -j: it has its jobs from the build's job server (jobs.py).
pkg-config finds nothing of the build machine, but what the libraries have for it, and PKG_CONFIG_OWN: a folder of the port's own, in
which it may put what it built itself.
"""

import dataclasses
import os
import pathlib

import libraries
import recipes
from common import USERLAND, BuildError, build_once, built_folder, content_hash, run_logged, say


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
    shares_source: bool  # with a library
    needs: tuple
    extra: dict

    def libraries(self):
        return [name for name in self.needs if name != "c++"]

    def parts(self):
        """What is linked into it beside its own source, by name: a version, a licence and a source."""
        linked = {name: libraries.load(name) for name in libraries.closure(self.libraries())}
        return dict(sorted((self.extra | {name: library.part() for name, library in linked.items() if library.source != self.source}).items()))


def _extra_of(recipe):
    extra = recipe.get("extra", {})
    for part in extra.values():
        part["version"], part["licence"]  # KeyError: a part that a list of licences could not tell
    return extra


def _port_of(folder, recipe):
    shared = recipe["source"].get("library")
    source = libraries.load(shared).source if shared else recipe["source"]
    return Port(folder, recipe["name"], recipe["version"], recipe["licence"], tuple(recipe["groups"]), recipe.get("priority", 0),
                tuple(recipe["commands"]), source, bool(shared), tuple(recipe.get("needs", ())), _extra_of(recipe))


def load(folder):
    return recipes.read(folder / "port.toml", lambda recipe: _port_of(folder, recipe))


def load_all():
    return [load(path.parent) for path in sorted((USERLAND / "ports").glob("*/port.toml"))]


@dataclasses.dataclass(frozen=True)
class Toolchain:
    """The folders that userland/cc and userland/cxx work with; cxxroot is None where no port needs C++."""
    sysroot: pathlib.Path
    cxxroot: pathlib.Path


def needs_cxx(port):
    return "c++" in port.needs


def key_of(port, toolchain):
    cxx = (toolchain.cxxroot.name, USERLAND / "cxx") if needs_cxx(port) else ()
    linked = (libraries.key(name, toolchain.sysroot) for name in port.libraries())
    archive = (port.source["sha256"],) if port.shares_source else ()  # else it is in the folder
    return content_hash("port", recipes.BUILD_INTERFACE, toolchain.sysroot.name, port.folder, *recipes.TOOLS, *cxx, *linked, *archive)


def _check(port, out, log):
    missing = [name for name in port.commands if not os.path.lexists(out / "usr" / "bin" / name)]
    if missing:
        raise BuildError(f"port {port.name} built, but without {', '.join(missing)}", log)


def is_built(port, toolchain):
    return built_folder(port.name, key_of(port, toolchain)).exists()


def build(port, toolchain, server):
    """The port's folder in the cache, built when it is not there, and the CPU seconds that this took. What is fetched for it comes
    before it waits for a token of the job server."""
    def make(scratch, log):
        for source in (port.source, *port.parts().values()):
            recipes.fetch(source)
        with server.token():
            return _build(port, toolchain, server, scratch, log)

    return build_once(port.name, key_of(port, toolchain), make)


def _build(port, toolchain, server, scratch, log):
    say(f"building {port.name} {port.version}")
    own = scratch / "pkgconfig"
    own.mkdir()
    known, libraries_cpu_s = libraries.gather(port.libraries(), toolchain.sysroot, server, scratch / "libraries")
    env = recipes.environment(port.name, toolchain.sysroot, scratch, server.makeflags) | {
        "CLOCHE_CXXROOT": str(scratch / "cxxroot"), "CXX": f"{USERLAND}/cxx", "PORT": str(port.folder), "EXTRA": str(scratch / "extra"),
        "LIBRARIES": str(scratch / "libraries"), "PKG_CONFIG_OWN": str(own), "PKG_CONFIG_LIBDIR": ":".join([str(own), *known])}
    tree, out = scratch / "src", scratch / "out"
    (out / "usr" / "bin").mkdir(parents=True)
    if toolchain.cxxroot:
        (scratch / "cxxroot").symlink_to(toolchain.cxxroot)
    recipes.unpack(port.source, tree, log)
    for name, further in port.extra.items():
        recipes.unpack(further, scratch / "extra" / name, log)
    recipes.change(tree, port.folder, log, scratch / "extra")
    cpu_s = run_logged(["sh", "-eu", port.folder / "build.sh"], log, tree, env, server.files)
    _check(port, out, log)
    return cpu_s + libraries_cpu_s
