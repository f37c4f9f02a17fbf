"""Where distributions come from: a source answers `candidates(name)`. Those that need the network are in _index.py."""
import json
import os
import sys
import urllib.parse

from ._errors import PipError
from ._vendor.packaging.requirements import Requirement
from ._vendor.packaging.utils import canonicalize_name
from ._vendor.packaging.version import Version
from ._wheel import Wheel, incompatibility

_REGISTRY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "_cloche", "registry.json")
OPERATORS_WHEELS = "/usr/share/wheels"  # what the operator of this sandbox provides, where it does


class Candidate:
    """Something that can be installed: `name` (canonical), `version`, `requirements` (a list, or a function of one), and how."""

    def __init__(self, name, version, requirements, wheel=None, entry=None, yanked=None, extras=(), direct=False, built=False):
        self.name, self.version = name, Version(version)
        self.yanked = yanked  # why its index takes it back; None: it does not
        self.extras = extras  # what a file was asked for with
        self.direct = direct  # named as a file, not found by its name
        self.built = built  # of a source archive, for which it takes a while
        self.requirements = requirements
        self.wheel = wheel  # a Wheel, for one that is a file
        self.entry = entry  # the registry's entry, for one that is linked

    @property
    def builtin(self):
        return self.entry is not None and self.entry.get("builtin", False)


class Registry:
    """The packages that this build has."""

    def __init__(self):
        try:
            with open(_REGISTRY, encoding="utf-8") as file:
                entries = json.load(file)
        except FileNotFoundError:
            entries = []
        self.entries = {entry["name"]: entry for entry in entries}
        self.by_import = {}
        for entry in entries:
            for name in entry["provides"]:
                self.by_import.setdefault(canonicalize_name(name), entry["name"])

    def find(self, name):
        """The entry for a name of pip's or an import name."""
        return self.entries.get(name) or self.entries.get(self.by_import.get(name, ""))

    def names(self):
        return sorted(self.entries)

    def candidates(self, name):
        entry = self.find(name)
        if entry is None:
            return []
        return [Candidate(entry["name"], entry["version"], [Requirement(text) for text in entry["requires_dist"]], entry=entry)]


class Wheels:
    """Wheel files in folders, or named one by one."""

    def __init__(self, places=(), files=()):
        self.wheels = {}
        self.unfit = {}  # name -> why its wheels cannot be used
        for place in places:
            path = local_path(place)
            if os.path.isdir(path):
                for name in sorted(os.listdir(path)):
                    if name.endswith(".whl"):
                        self._add(os.path.join(path, name))
            elif path.endswith(".whl"):
                self._add(path)
            elif place:
                print(f"WARNING: Location '{place}' is ignored: it is neither a folder nor a wheel.", file=sys.stderr)
        for file in files:
            self._add(file, named=True)

    def _add(self, path, named=False):
        """One that nobody named may be anything: it keeps no other from being found."""
        try:
            wheel = Wheel(path)
        except PipError:
            if named:
                raise
            return
        try:
            problem = incompatibility(wheel)
        except PipError as error:
            if named:
                raise
            problem = str(error)
        if problem:
            if named:
                raise PipError(problem)
            self.unfit.setdefault(wheel.name, problem)
        else:
            self.wheels.setdefault(wheel.name, []).append(wheel)

    def candidates(self, name):
        return [Candidate(wheel.name, wheel.version, wheel.requirements(), wheel=wheel) for wheel in self.wheels.get(name, [])]


def is_address(place):
    """Whether it is to be fetched."""
    return place.startswith(("http://", "https://"))


def local_path(place):
    """A folder or file of this machine, also as a file: address."""
    parts = urllib.parse.urlsplit(place)
    return urllib.parse.unquote(parts.path) if parts.scheme == "file" else os.path.expanduser(place)
