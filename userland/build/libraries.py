"""Libraries that several programs of guests are linked with: each is compiled once, for ports and for the guests' Python.

A folder of userland/libraries has a library.toml (name, version, licence, the other libraries that it `needs`, and [source], as a
port's), patches and edit.py as a port's where it has any, and a build.sh, which runs in the unpacked source with what a port's has
(ports.py), its own folder being $RECIPE, and puts include/ and lib/ into $OUT, and bin/ where a program is compiled with it. Who needs it
says so by its name, and finds it at $LIBRARIES/NAME; what pkg-config should know lies in lib/pkgconfig there.
"""

import dataclasses
import os
import pathlib

import recipes
from common import USERLAND, build_once, content_hash, run_logged, say

FOLDER = USERLAND / "libraries"
CODE = (pathlib.Path(__file__).resolve(), pathlib.Path(recipes.__file__).resolve())


@dataclasses.dataclass(frozen=True)
class Library:
    folder: pathlib.Path
    name: str
    version: str
    licence: str
    needs: tuple[str, ...]  # other libraries
    source: dict

    def part(self):
        """It in a list of what a program is made of."""
        return {"version": self.version, "licence": self.licence, **self.source}


def load(name):
    folder = FOLDER / name
    return recipes.read(folder / "library.toml", lambda recipe: Library(
        folder, recipe["name"], recipe["version"], recipe["licence"], tuple(recipe.get("needs", ())), recipe["source"]))


def names():
    return sorted(path.parent.name for path in FOLDER.glob("*/library.toml"))


def load_all():
    return [load(name) for name in names()]


def closure(names):
    """They, and all that they need."""
    found = set()
    for name in names:
        found |= {name} | closure(load(name).needs)
    return found


def inputs(name):
    """The files that its making depends on."""
    return (*CODE, *(file for other in load(name).needs for file in inputs(other)), *sorted(path for path in (FOLDER / name).rglob("*") if path.is_file()), *recipes.TOOLS)


def key(name, sysroot):
    linked = (key(other, sysroot) for other in load(name).needs)
    return content_hash("library", recipes.BUILD_INTERFACE, sysroot.name, FOLDER / name, *recipes.TOOLS, *linked)


def build(name, sysroot, server=None):
    """The folder in the cache, made when it is not there, and the CPU seconds that this took. With a job server the caller holds a
    token of it."""
    return build_once(f"library.{name}", key(name, sysroot), lambda scratch, log: _build(load(name), sysroot, server, scratch, log))


def gather(names, sysroot, server, folder):
    """Puts them into a new folder, by name. What pkg-config may know of them, and the CPU seconds that it took."""
    folder.mkdir()
    known, cpu_s = [], 0
    for name in names:
        library, took_s = build(name, sysroot, server)
        (folder / name).symlink_to(library)
        known.append(str(folder / name / "lib" / "pkgconfig"))
        cpu_s += took_s
    return known, cpu_s


def _build(library, sysroot, server, scratch, log):
    recipes.fetch(library.source)
    say(f"making the library {library.name} {library.version}")
    tree = scratch / "src"
    recipes.unpack(library.source, tree, log)
    recipes.change(tree, library.folder, log)
    _, others_cpu_s = gather(library.needs, sysroot, server, scratch / "libraries")
    where = f"library.{library.name}"
    env = recipes.environment(where, sysroot, scratch, server.makeflags if server else f" -j{os.cpu_count()}") | {
        "RECIPE": str(library.folder), "LIBRARIES": str(scratch / "libraries")}
    return others_cpu_s + run_logged(["sh", "-eu", library.folder / "build.sh"], log, tree, env, server.files if server else ())
