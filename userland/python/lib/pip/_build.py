"""Wheels out of sources: archives of an index, of a file or an address, and project folders.

A project's build backend (PEP 517; setuptools where it names none) runs in a process of its own, with what it requires in a folder of
its own, which pip installs there as it would for the user. What it makes has to be a wheel of pure Python.
"""
import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

from . import _site
from ._errors import NotBuildable, PipError
from ._vendor.packaging.utils import InvalidSdistFilename, parse_sdist_filename
from ._wheel import Wheel, fits, incompatibility

ARCHIVES = (".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz")
MAX_DEPTH = 4  # of what is built to build another
MAX_LINES = 15  # of what a backend says that fails
MISSING_STATUS = 23  # of a pip within a build that has found nothing
_COMPILERS = re.compile(r"\b(gcc|cc|g\+\+|clang|cargo|rustc|cmake|meson|compiler)\b")
# Settings that are of what the user asked for, and not of what builds it.
_OF_THE_USERS_OWN = {f"PIP_{name}" for name in ("CONSTRAINT", "NO_DEPS", "PRE", "REQUIREMENT", "REQUIRE_HASHES", "TARGET", "USER")}
_ELSEWHERE = "\nWhat has native code is for a sandbox of the linux engine, where pip install has it."
_DEPTH = "CLOCHE_PIP_BUILDS"


def depth():
    """How many builds this pip is within: 0, or it installs what builds something."""
    return int(os.environ.get(_DEPTH, "0"))


_HOOK = """
import importlib, json, sys
backend, hook, result, path, *arguments = sys.argv[1:]
sys.path[:0] = json.loads(path)
module, _, attributes = backend.partition(":")
target = importlib.import_module(module)
for name in filter(None, attributes.split(".")):
    target = getattr(target, name)
function = getattr(target, hook, None)
sys.argv[1:] = []
made = function(*arguments) if function else []
with open(result, "w", encoding="utf-8") as file:
    json.dump(made, file)
"""


class NoBackend(PipError):
    """A project that only its build backend can read."""


class Builder:
    """`words`: options of pip that say where what a backend requires is found; `say` is told what is built."""

    def __init__(self, words=(), say=None):
        self.words, self.say = list(words), say or (lambda text: None)

    def wheel(self, folder, name, origin, record=None, kind="wheel"):
        """The Wheel of a project, or of kind "editable" one that leads to its folder. `origin`: the address of its source; `record`: what
        direct_url.json says of it, instead."""
        self.say(f"  Building a wheel of {name}")
        requires, backend, path = _system(folder)
        before = _linked()
        try:
            made = self._make(folder, name, kind, requires, backend, path)
        finally:
            for other in _linked() - before:
                _site.unlink(other)
        wheel = Wheel(made, origin=origin, record=record)
        problem = incompatibility(wheel)
        if problem and (fits(wheel.tags) or wheel.has_native_code()):
            raise NotBuildable(problem)
        return wheel  # which may be of Python alone, whatever it is called: its native code was only to make it faster

    def _make(self, folder, name, kind, requires, backend, path):
        with tempfile.TemporaryDirectory(prefix="pip-build-") as place:
            tools = os.path.join(place, "tools")
            self._install(requires, tools, name)
            run = _Backend(name, os.path.abspath(folder), backend, [*path, tools], os.path.join(place, "result"))
            more = run.hook(f"get_requires_for_build_{kind}")
            if not isinstance(more, list) or not all(isinstance(one, str) for one in more):
                raise PipError(f"{name} cannot be built: its backend {backend} does not say what it requires")
            self._install(more, tools, name)
            out = tempfile.mkdtemp(prefix="pip-wheel-")
            atexit.register(shutil.rmtree, out, ignore_errors=True)
            made = run.hook(f"build_{kind}", out)
        path = os.path.join(out, os.path.basename(str(made)))
        if not os.path.isfile(path):
            raise PipError(f"{name} cannot be built: its backend {backend} has made no wheel")
        return path

    def _install(self, requirements, tools, name):
        if not requirements:
            return
        if depth() >= MAX_DEPTH:
            raise PipError(f"{name} cannot be built: what builds it has to be built itself, {MAX_DEPTH} times over")
        environment = {key: value for key, value in os.environ.items() if key not in _OF_THE_USERS_OWN} | {_DEPTH: str(depth() + 1)}
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", tools, *self.words, "--", *requirements], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, check=False)
        if done.returncode:
            why = done.stderr.decode("utf-8", "replace").strip().removeprefix("ERROR: ").split("\nPackage not found.")[0]
            text = f"{name} cannot be built: what builds it ({', '.join(requirements)}) cannot be installed\nERROR: {why}"
            raise NotBuildable(text + _ELSEWHERE) if done.returncode == MISSING_STATUS else PipError(text)


class _Backend:
    def __init__(self, name, folder, backend, path, result):
        self.name, self.folder, self.backend, self.path, self.result = name, folder, backend, path, result

    def hook(self, hook, *arguments):
        environment = {"CC": "cc", "CXX": "c++", **os.environ, "PYTHONPATH": os.pathsep.join([*self.path, *filter(None, [os.environ.get("PYTHONPATH")])])}
        done = subprocess.run([sys.executable, "-P", "-c", _HOOK, self.backend, hook, self.result, json.dumps(self.path), *arguments], cwd=self.folder,
                              env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            said = done.stdout.decode("utf-8", "replace").rstrip()
            last = "".join(f"\n    {line}" for line in said.split("\n")[-MAX_LINES:])
            text = f"{self.name} cannot be built: {self.backend} failed, and its last lines were{last}"
            raise NotBuildable(text + _ELSEWHERE) if _COMPILERS.search(said) else PipError(text)
        try:
            with open(self.result, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            raise PipError(f"{self.name} cannot be built: {self.backend} ended without a result") from None


def _linked():
    """The packages of the registry that are installed. What builds is so as well, beside its own folder, as long as it builds."""
    return set(os.listdir(_site.LINKED)) if os.path.isdir(_site.LINKED) else set()


class Archive:
    """The source of a version that an index has and has no wheel of. It is built when its requirements are asked for."""

    editable = None

    def __init__(self, link, fetcher, builder):
        self.link, self.fetcher, self.builder = link, fetcher, builder
        self.file_name = link.file_name
        try:
            self.name, self.released = parse_sdist_filename(link.file_name)
        except InvalidSdistFilename as error:
            raise PipError(f"{link.file_name} is not the name of a source archive: {error}") from None
        self.version = str(self.released)
        self._wheel = None

    def file(self):
        """The archive, fetched and checked."""
        return self.fetcher.file(self.link)

    def local(self):
        if self._wheel is None or not os.path.exists(self._wheel.path):
            wheel = of_archive(self.file(), self.builder, self.link.url)
            if (wheel.name, wheel.version) != (self.name, self.version):
                raise PipError(f"{self.file_name} is of {wheel.name} {wheel.version}, not of {self.name} {self.version}")
            self._wheel = wheel
        return self._wheel

    def requirements(self):
        return self.local().requirements()

    def sha256(self):
        return self.link.hashes.get("sha256") or self.local().sha256()

    def stage(self, change, target, scripts, direct=False):
        return self.local().stage(change, target, scripts, direct=direct)


def of_archive(path, builder, origin):
    """The Wheel of what a source archive has."""
    with tempfile.TemporaryDirectory(prefix="pip-source-") as place:
        _unpack(path, place)
        names = os.listdir(place)
        folder = os.path.join(place, names[0]) if len(names) == 1 and os.path.isdir(os.path.join(place, names[0])) else place
        return builder.wheel(folder, os.path.basename(path), origin)


def _unpack(path, place):
    try:
        if path.endswith(".zip"):
            with zipfile.ZipFile(path) as box:
                box.extractall(place)
        else:
            with tarfile.open(path) as box:
                box.extractall(place, filter="data")
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place, exist_ok=True)
        raise PipError(f"{os.path.basename(path)} cannot be unpacked: {str(error).partition(chr(10))[0].rstrip(':')}") from None


def table_of(folder):
    """What the pyproject.toml of a project says; None where it has none."""
    file = os.path.join(folder, "pyproject.toml")
    if not os.path.exists(file):
        return None
    with open(file, "rb") as stream:
        try:
            return tomllib.load(stream)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PipError(f"{file}: {error}") from None


def not_installable(folder):
    return PipError(f"Directory {folder!r} is not installable. Neither 'setup.py' nor 'pyproject.toml' found.")


def _system(folder):
    """(what is required, the backend, folders that it is also sought in) of a project."""
    data, file = table_of(folder), os.path.join(folder, "pyproject.toml")
    if data is None and not os.path.exists(os.path.join(folder, "setup.py")):
        raise not_installable(folder)
    system = (data or {}).get("build-system", {})
    requires = system.get("requires", ["setuptools"])
    backend = system.get("build-backend", "setuptools.build_meta:__legacy__")
    path = system.get("backend-path", [])
    if not isinstance(backend, str) or not all(isinstance(one, str) for one in [*requires, *path]):
        raise PipError(f"{file}: [build-system] is not as PEP 517 has it")
    inside = [os.path.realpath(os.path.join(folder, one)) for one in path]
    if not all(one == os.path.realpath(folder) or one.startswith(os.path.realpath(folder) + os.sep) for one in inside):
        raise PipError(f"{file}: backend-path leads out of the project")
    return requires, backend, inside
