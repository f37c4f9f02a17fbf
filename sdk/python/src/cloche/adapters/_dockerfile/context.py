# SPDX-License-Identifier: Apache-2.0
"""The folder of a Dockerfile: its files by the names that COPY has, without those that `.dockerignore` leaves out."""
from __future__ import annotations

import os
import posixpath
import re
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, List, Set, Tuple

from .instructions import DockerfileError


@dataclass(frozen=True)
class Text:
    """A file that stands in the Dockerfile itself."""

    name: str
    content: str


# Go's names of files: `*` stays within one part, and matches also what begins with a point.
_PIECE = re.compile(r"(?P<deep>\*\*/?)|(?P<star>\*)|(?P<one>\?)|(?P<set>\[\^?(?:\\.|[^\]\\])+\])|\\(?P<kept>.)|(?P<other>.)",
                    re.DOTALL)


def _expression(pattern: str) -> "re.Pattern[str]":
    def of(piece: "re.Match[str]") -> str:
        kind = piece.lastgroup or ""
        if kind == "deep":
            return "(?:.*/)?" if piece["deep"].endswith("/") else ".*"
        if kind == "set":
            return re.sub(r"(?<=.)([\[&~|])", r"\\\1", piece["set"])
        return {"star": "[^/]*", "one": "[^/]"}.get(kind) or re.escape(piece[kind])

    return re.compile("".join(map(of, _PIECE.finditer(pattern))), re.DOTALL)


class _Ignored:
    """What `.dockerignore` says: the last line that fits a name, or a folder above it, decides."""

    def __init__(self, text: str) -> None:
        self._rules: List[Tuple[bool, "re.Pattern[str]"]] = []
        for line in text.lstrip("\ufeff").splitlines():
            pattern = "" if line.startswith("#") else line.strip()
            is_exception = pattern.startswith("!")
            pattern = pattern[is_exception:].strip()
            if pattern:
                name = posixpath.normpath(pattern).lstrip("/")
                self._rules.append((is_exception, _expression(name)))
        self.has_rules = bool(self._rules)
        self.has_exceptions = any(is_exception for is_exception, _ in self._rules)

    def has(self, name: str) -> bool:
        parts = name.split("/")
        names = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        is_ignored = False
        for is_exception, expression in self._rules:
            if is_ignored == is_exception and any(expression.fullmatch(each) for each in names):
                is_ignored = not is_exception
        return is_ignored


class BuildContext:
    """What COPY finds beside the Dockerfile."""

    def __init__(self, dockerfile: Path) -> None:
        self.folder = dockerfile.parent.resolve()
        for name in (f"{dockerfile.name}.dockerignore", ".dockerignore"):
            if (self.folder / name).is_file():
                self._ignored = _Ignored((self.folder / name).read_text())
                break
        else:
            self._ignored = _Ignored("")

    def leaves_out(self, path: Path) -> bool:
        """Whether nothing of it, or of what is in it, is copied."""
        if path == self.folder or not self._ignored.has(path.relative_to(self.folder).as_posix()):
            return False
        if self._ignored.has_exceptions and path.is_dir() and not path.is_symlink():
            return all(self.leaves_out(each) for each in path.iterdir())
        return True

    def find(self, source: str) -> List[Path]:
        """The files and folders of that name."""
        parts = [part for part in posixpath.normpath("/" + source).split("/") if part]
        if ".." in source.split("/") and posixpath.normpath(source.lstrip("/")).startswith(".."):
            raise DockerfileError(f"COPY {source} leaves the folder of the Dockerfile")
        found = [path for path in self._below(self.folder, parts) if not self.leaves_out(path)]
        for path in found:
            if not path.resolve().is_relative_to(self.folder):
                raise DockerfileError(f"COPY {source} leaves the folder of the Dockerfile")
        if not found:
            raise DockerfileError(f"COPY {source}: there is no such file beside the Dockerfile, or .dockerignore has it")
        return found

    def _below(self, folder: Path, parts: List[str]) -> Iterator[Path]:
        if not parts:
            yield folder
            return
        if not folder.is_dir():
            return
        expression = _expression(parts[0])
        for name in [parts[0]] if (folder / parts[0]).exists() else sorted(os.listdir(folder)):
            if name == parts[0] or expression.fullmatch(name):
                yield from self._below(folder / name, parts[1:])

    @contextmanager
    def taken(self, folder: Path) -> Iterator[Path]:
        """A folder of it with what COPY takes of it, which is a passing copy where that is not all."""
        def left_out(within: str, names: List[str]) -> Set[str]:
            return {name for name in names if self.leaves_out(Path(within, name))}

        if not self._ignored.has_rules:
            yield folder
            return
        with tempfile.TemporaryDirectory() as passing:
            copy = Path(passing, "taken")
            shutil.copytree(folder, copy, symlinks=True, ignore=left_out)
            yield copy
