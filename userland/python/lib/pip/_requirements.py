"""What a command line and requirements files ask for."""
import os
import re
import shlex
import urllib.parse

from . import _build, _project
from ._errors import PipError
from ._hashes import Hashes, split
from ._repository import Repository, is_repository
from ._resolve import parse_requirement
from ._sources import Candidate, is_address, local_path
from ._wheel import Wheel, fits, foreign, incompatibility

MAX_DEPTH = 20
_COMMENT = re.compile(r"(^|\s+)#.*$")


class Asked:
    """Requirements, candidates that are files or projects, and options that a file may set. `fetcher` brings what has an address;
    `builder` makes wheels of sources."""

    def __init__(self, fetcher=None, builder=None):
        self.requirements, self.pinned, self.constraints, self.find_links = [], [], [], []
        self.index_urls = []  # the first one in place of the usual index
        self.no_index = self.pre = False
        self.hashes = Hashes()
        self.fetcher, self.builder = fetcher, builder

    def add(self, text, base=".", hashes=()):
        """A name with specifiers, a wheel, a project folder, or `name @ address`."""
        name, at, address = text.partition("@")
        if at and ("://" in address or address.strip().startswith((".", "/"))) and not text.startswith((".", "/", "http:", "https:")) \
                and not is_repository(text):
            text = address.split(" ;")[0].strip() + (name.strip()[name.strip().find("["):] if "[" in name else "")
        if not self._is_path(text):
            requirement = parse_requirement(text)
            self.hashes.add(requirement.name, hashes)
            return self.requirements.append(requirement)
        plain, extras = _parted(re.split(r"\s+;", text)[0])
        if is_repository(plain):
            candidate = self._made(Repository(plain).wheel)
        else:
            candidate = self._remote(plain) if is_address(plain) else self._local(os.path.join(base, local_path(plain)), text)
        candidate.extras = extras
        self.hashes.add(candidate.name, hashes)
        self.pinned.append(candidate)

    def _made(self, make):
        """The candidate of a wheel that `make(builder)` makes."""
        if self.builder is None:
            raise PipError("nothing is built from sources here")
        wheel = make(self.builder)
        return Candidate(wheel.name, wheel.version, wheel.requirements(), wheel=wheel, direct=True)

    def _remote(self, address):
        from ._index import Link, RemoteWheel
        link = Link.of_address(address)
        if link.file_name.endswith(_build.ARCHIVES) and self.fetcher is not None:
            return self._made(lambda builder: _build.of_archive(self.fetcher.file(link), builder, link.url))
        if not link.file_name.endswith(".whl") or self.fetcher is None:
            raise PipError(f"{address} is neither a wheel nor a source archive")
        wheel = RemoteWheel(link, self.fetcher)
        if problem := "" if fits(wheel.tags) else foreign(wheel):
            raise PipError(problem)
        if problem := incompatibility(wheel.local()):
            raise PipError(problem)
        return Candidate(wheel.name, wheel.version, wheel.requirements, wheel=wheel, direct=True)

    def _local(self, path, text):
        if os.path.isdir(path):
            try:
                return _project.Project(path).candidate()
            except _build.NoBackend:
                return self._made(lambda builder: _of_folder(builder, path))
        if path.endswith(".whl"):
            if not os.path.exists(path):
                raise PipError(f"There is no file {text!r}")
            wheel = Wheel(path)
            if problem := incompatibility(wheel):
                raise PipError(problem)
            return Candidate(wheel.name, wheel.version, wheel.requirements(), wheel=wheel, direct=True)
        if not os.path.exists(path):
            raise PipError(f"Invalid requirement: {text!r}: there is no such file or folder")
        return self._made(lambda builder: _build.of_archive(path, builder, "file://" + os.path.abspath(path)))

    @staticmethod
    def _is_path(text):
        plain = re.sub(r"\[[^\]]*\]$", "", text)
        return (is_repository(plain) or plain.startswith((".", "/", "~", "file:", "http:", "https:")) or plain.endswith((".whl", ".tar.gz", ".zip", ".tar.bz2"))
                or os.sep in plain.split(";")[0].split("@")[0])

    def add_editable(self, path, base="."):
        if "://" in path and not path.startswith("file:"):
            raise PipError(f"{path} cannot be edited: clone it, and install its folder: pip install -e FOLDER")
        plain, extras = _parted(path)
        folder = os.path.join(base, local_path(plain))
        try:
            candidate = _project.Project(folder).candidate(editable=True)
        except _build.NoBackend:
            candidate = self._made(lambda builder: _of_folder(builder, folder, "editable"))
        candidate.extras = extras
        self.pinned.append(candidate)

    def add_file(self, path, constraints=False, depth=0):
        if depth > MAX_DEPTH:
            raise PipError(f"{path}: requirements files include each other")
        if is_address(path) and self.fetcher is not None:
            text, base = self.fetcher.page(path, "text/plain, */*;q=0.1").text, "."
        else:
            try:
                with open(path, encoding="utf-8-sig") as file:
                    text = file.read()
            except OSError as error:
                raise PipError(f"Could not open requirements file: [Errno {error.errno}] {error.strerror}: {path!r}") from None
            base = os.path.dirname(path) or "."
        for line in text.replace("\\\n", " ").split("\n"):
            line = os.path.expandvars(_COMMENT.sub("", line).strip())
            if line:
                self._line(line, base, path, constraints, depth)

    def _line(self, line, base, path, constraints, depth):
        if not line.startswith("-"):
            line, hashes = split(line)
            return self.constraints.append(parse_requirement(line)) if constraints else self.add(line, base, hashes)
        name, _, value = line.replace("=", " ", 1).partition(" ") if line.startswith("--") else line.partition(" ")
        if len(name) > 2 and not name.startswith("--"):
            name, value = name[:2], name[2:] + value
        value = " ".join(shlex.split(value))
        if name in ("-r", "--requirement", "-c", "--constraint"):
            file = value if is_address(value) else urllib.parse.urljoin(path, value) if is_address(path) else os.path.join(base, value)
            self.add_file(file, constraints or name in ("-c", "--constraint"), depth + 1)
        elif name in ("-e", "--editable"):
            self.add_editable(value, base)
        elif name in ("-f", "--find-links"):
            self.find_links.append(value if is_address(value) else os.path.join(base, local_path(value)))
        elif name in ("-i", "--index-url"):
            self.index_urls[:1] = [value]
        elif name == "--extra-index-url":
            self.index_urls[:] = [*(self.index_urls or [None]), value]
        elif name in ("--no-index", "--pre"):
            setattr(self, name[2:].replace("-", "_"), True)
        elif name == "--require-hashes":
            self.hashes.required = True
        elif name not in ("--prefer-binary", "--only-binary", "--no-binary", "--trusted-host", "--use-feature"):
            raise PipError(f"{path}: no such option: {name}")


def _of_folder(builder, path, kind="wheel"):
    path = os.path.abspath(path)
    record = {"dir_info": {"editable": True} if kind == "editable" else {}, "url": "file://" + path}
    return builder.wheel(path, os.path.basename(path), record["url"], record, kind)


def _parted(text):
    """A path or address, and the extras in brackets behind it."""
    plain, bracket, rest = text.rpartition("[")
    if bracket and rest.endswith("]"):
        return plain, {extra.strip() for extra in rest[:-1].split(",") if extra.strip()}
    return text, set()
