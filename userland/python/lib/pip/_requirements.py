"""What a command line and requirements files ask for."""
import os
import re
import shlex

from . import _project
from ._errors import PipError
from ._resolve import parse_requirement
from ._sources import Candidate, local_path
from ._wheel import Wheel, incompatibility

MAX_DEPTH = 20
_COMMENT = re.compile(r"(^|\s+)#.*$")


class Asked:
    """Requirements, candidates that are files or projects, and options that a file may set."""

    def __init__(self):
        self.requirements, self.pinned, self.constraints, self.find_links = [], [], [], []

    def add(self, text, base="."):
        """A name with specifiers, a wheel, a project folder, or `name @ file:...`."""
        name, at, address = text.partition("@")
        if at and ("://" in address or address.strip().startswith((".", "/"))) and not text.startswith((".", "/")):
            text = address.split(";")[0].strip()
        if text.startswith(("git+", "hg+", "svn+", "bzr+")):
            raise PipError(f"{text} cannot be reached: this sandbox has no network for pip")
        path = os.path.join(base, local_path(re.sub(r"\[[^\]]*\]$", "", text))) if self._is_path(text) else None
        if path is None:
            return self.requirements.append(parse_requirement(text))
        if os.path.isdir(path):
            return self.pinned.append(_project.Project(path).candidate())
        if path.endswith(".whl"):
            if not os.path.exists(path):
                raise PipError(f"There is no file {text!r}")
            wheel = Wheel(path)
            if problem := incompatibility(wheel):
                raise PipError(problem)
            return self.pinned.append(Candidate(wheel.name, wheel.version, wheel.requirements(), wheel=wheel))
        if not os.path.exists(path):
            raise PipError(f"Invalid requirement: {text!r}: there is no such file or folder")
        raise PipError(f"{os.path.basename(path)} is a source archive: only wheels and project folders can be installed here")

    @staticmethod
    def _is_path(text):
        plain = re.sub(r"\[[^\]]*\]$", "", text)
        return (plain.startswith((".", "/", "~", "file:", "http:", "https:")) or plain.endswith((".whl", ".tar.gz", ".zip", ".tar.bz2"))
                or os.sep in plain.split(";")[0].split("@")[0])

    def add_editable(self, path, base="."):
        if "://" in path and not path.startswith("file:"):
            raise PipError(f"{path} cannot be reached: this sandbox has no network for pip")
        self.pinned.append(_project.Project(os.path.join(base, local_path(re.sub(r"\[[^\]]*\]$", "", path)))).candidate(editable=True))

    def add_file(self, path, constraints=False, depth=0):
        if depth > MAX_DEPTH:
            raise PipError(f"{path}: requirements files include each other")
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
            line = re.split(r"\s--", line)[0].strip()  # per-requirement options such as --hash
            return self.constraints.append(parse_requirement(line)) if constraints else self.add(line, base)
        name, _, value = line.replace("=", " ", 1).partition(" ") if line.startswith("--") else line.partition(" ")
        if len(name) > 2 and not name.startswith("--"):
            name, value = name[:2], name[2:] + value
        value = " ".join(shlex.split(value))
        if name in ("-r", "--requirement"):
            self.add_file(os.path.join(base, value), constraints, depth + 1)
        elif name in ("-c", "--constraint"):
            self.add_file(os.path.join(base, value), True, depth + 1)
        elif name in ("-e", "--editable"):
            self.add_editable(value, base)
        elif name in ("-f", "--find-links"):
            self.find_links.append(os.path.join(base, local_path(value)))
        elif name not in ("-i", "--index-url", "--extra-index-url", "--no-index", "--pre", "--prefer-binary", "--only-binary",
                          "--no-binary", "--trusted-host", "--require-hashes", "--use-feature"):
            raise PipError(f"{path}: no such option: {name}")
