# SPDX-License-Identifier: Apache-2.0
"""Folders of a sandbox that are copied to this machine.

Neither is what a guest has packed trusted (_archive.py), nor what it puts where the copy goes while that is made, which
it can in a folder that it has by a mount. So every name is followed from the folder, which is held, and nothing leads out
of that.
"""
from __future__ import annotations

import io
import os
import secrets
import tarfile
from pathlib import Path
from types import TracebackType
from typing import IO, List, Optional, Type

from ._archive import Member, members
from ._places import Place

_MOST_LINKS = 40
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def extract(archive: bytes, target: Path) -> None:
    """Files and folders below `target`, which is made where it is not there, and links among them."""
    for folder in [*reversed(target.parents), target]:
        with Place(str(folder)) as place:
            if place.stat() is None:
                place.make_folder()
    if os.open not in os.supports_dir_fd:  # nor are there folders of guests
        with tarfile.open(fileobj=_packed_anew(archive), mode="r:") as tar:
            tar.extractall(target, filter="data")
        return
    with _Tree(str(target)) as tree:
        links = []
        for member in members(archive):
            if member.name.startswith("/") or ".." in member.name.split("/"):
                continue
            if member.is_folder:
                os.close(tree.enter(_names(member.name), make=True))
            elif not _names(member.name):
                continue  # the folder itself, as something else
            elif member.is_symlink:
                links.append(member)
            elif member.is_link:
                tree.link(member.name, member.target)
            else:
                tree.write(member)
        # Where a link leads is known once all of them are there: one may pass another, whose ".." is
        # then not where its name says.
        made = [link.name for link in links if tree.symlink(link.name, link.target)]
        while outside := {name for name in made if not tree.leads_below(name)}:
            for name in outside:
                tree.remove(name)
            made = [name for name in made if name not in outside]


def _packed_anew(archive: bytes) -> IO[bytes]:
    """With what has been read of it, and nothing else."""
    packed = io.BytesIO()
    kinds = (("is_folder", tarfile.DIRTYPE), ("is_link", tarfile.LNKTYPE), ("is_symlink", tarfile.SYMTYPE))
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for member in members(archive):
            copy = tarfile.TarInfo(member.name)
            copy.type = next((kind for name, kind in kinds if getattr(member, name)), tarfile.REGTYPE)
            copy.mode, copy.mtime, copy.linkname, copy.size = member.mode, member.modified, member.target, len(member.content)
            tar.addfile(copy, io.BytesIO(member.content))
    packed.seek(0)
    return packed


class _OutsideError(PermissionError):
    """Something leads out of the folder."""


def _names(path: str) -> List[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


class _Tree:
    """What is below a folder that is held."""

    def __init__(self, path: str) -> None:
        self._path = path
        with Place(path) as place:
            self._root = place.open(os.O_RDONLY | os.O_DIRECTORY)

    def __enter__(self) -> _Tree:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        os.close(self._root)

    def enter(self, names: List[str], make: bool = False) -> int:
        """The folder there. Where it alone is missing it may be made: what a guest has packed makes no more than it says."""
        steps, left, links = [os.dup(self._root)], names[::-1], 0
        try:
            while left:
                name = left.pop()
                if name == "..":
                    os.close(steps.pop())
                    if not steps:
                        raise self._refusal(names)
                    continue
                text = _link_text(name, steps[-1])
                if text is not None:
                    links += 1
                    if text.startswith("/") or links > _MOST_LINKS:
                        raise self._refusal(names)
                    left += _names(text)[::-1]
                    continue
                try:
                    steps.append(os.open(name, _FOLDER, dir_fd=steps[-1]))
                except FileNotFoundError:
                    if left or not make:
                        raise
                    os.mkdir(name, dir_fd=steps[-1])
                    left.append(name)
            return steps.pop()
        finally:
            for step in steps:
                os.close(step)

    def write(self, member: Member) -> None:
        """In the place of what is there."""
        with self._beside(member.name) as new:
            number = os.open(new.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=new.folder)
            with open(number, "wb") as file:
                file.write(member.content)
                file.flush()
                os.fchmod(number, member.mode & 0o755 | 0o600)
                try:
                    os.utime(number, (member.modified, member.modified))
                except (OSError, OverflowError, ValueError):
                    pass  # a time that this machine does not have
            new.take()

    def link(self, path: str, to: str) -> None:
        *names, name = _names(to)
        folder = self.enter(names)
        try:
            with self._beside(path) as new:
                os.link(name, new.name, src_dir_fd=folder, dst_dir_fd=new.folder, follow_symlinks=False)
                new.take()
        finally:
            os.close(folder)

    def symlink(self, path: str, text: str) -> bool:
        """False: it would lead out, and is left out."""
        *names, _ = _names(path)
        if text.startswith("/") or not self._is_below([*names, *_names(text)]):
            return False
        with self._beside(path) as new:
            os.symlink(text, new.name, dir_fd=new.folder)
            new.take()
        return True

    def leads_below(self, path: str) -> bool:
        return self._is_below(_names(path))

    def remove(self, path: str) -> None:
        with self._beside(path) as new:
            os.unlink(new.target, dir_fd=new.folder)

    def _is_below(self, names: List[str]) -> bool:
        try:
            os.close(self.enter(names))
        except _OutsideError:
            return False
        except OSError:  # nothing is there, or a file
            pass
        return True

    def _beside(self, path: str) -> _New:
        *names, name = _names(path)
        return _New(self.enter(names, make=True), name)

    def _refusal(self, names: List[str]) -> _OutsideError:
        return _OutsideError(13, "a link leads out of the folder", os.path.join(self._path, *names))


class _New:
    """What is made beside its target, whose place it takes."""

    def __init__(self, folder: int, target: str) -> None:
        self.folder = folder
        self.target = target
        self.name = f".{secrets.token_hex(8)}.part"

    def __enter__(self) -> _New:
        return self

    def take(self) -> None:
        os.replace(self.name, self.target, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            os.unlink(self.name, dir_fd=self.folder)  # where it has not taken the place
        except FileNotFoundError:
            pass
        os.close(self.folder)


def _link_text(name: str, folder: int) -> Optional[str]:
    """Of a symbolic link; None: it is none."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return None
