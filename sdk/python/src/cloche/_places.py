# SPDX-License-Identifier: Apache-2.0
"""Files of this machine that are copied to and from sandboxes.

A guest may put a link into a folder of this machine that it has by a mount. Such a link leads to what is in that
folder, or is refused; links elsewhere are the user's, and are followed.
"""
from __future__ import annotations

import ctypes
import os
import stat
import struct
from types import TracebackType
from typing import List, Optional, Set, Tuple, Type

_MOST_LINKS = 40

_RECORD = struct.Struct("=QQQ")

_guests: Set[Tuple[int, int, int]] = set()
_statx = getattr(ctypes.CDLL(None), "statx", None) if hasattr(os, "O_PATH") else None
# Of the file that was read last: what it is, and when it was written.
_read: Optional[Tuple[int, int, int]] = None


def note_guest_folder(path: str) -> None:
    """What is mounted to be written is a guest's from now on."""
    try:
        folder = os.open(path, getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return  # whoever mounts it is told
    _guests.add(_identity(folder))
    os.close(folder)


def _identity(folder: int) -> Tuple[int, int, int]:
    """As Cloche keeps them: by the file system's own name, where it has one, and when the folder was made."""
    of = os.fstat(folder)
    system = os.fstatvfs(folder).f_fsid if hasattr(os, "fstatvfs") else 0
    return system or os.major(of.st_dev) << 32 | os.minor(of.st_dev), of.st_ino, _made_ns(folder)


def _made_ns(folder: int) -> int:
    """0: that is not known. Python has no name for it."""
    empty_path, birth, birth_at = 0x1000, 0x800, 80
    told = ctypes.create_string_buffer(256)
    if _statx is None or _statx(folder, b"", empty_path, birth, told) != 0:
        return 0
    if not struct.unpack_from("=I", told)[0] & birth:
        return 0
    seconds, nanoseconds = struct.unpack_from("=qI", told, birth_at)
    return int(seconds * 1_000_000_000 + nanoseconds)


def _read_kept() -> None:
    """Those that other processes of Cloche have mounted, now or earlier; what has been read is not read again."""
    global _read
    home = os.environ.get("HOME") and os.path.join(os.environ["HOME"], ".cache")
    caches = os.environ.get("XDG_CACHE_HOME") or home
    cache = os.environ.get("CLOCHE_CACHE") or (caches and os.path.join(caches, "cloche"))
    if not cache:
        return
    try:
        with open(os.path.join(cache, "guest_folders"), "rb") as file:
            of = os.fstat(file.fileno())
            now = of.st_ino, of.st_size, of.st_mtime_ns
            if now == _read:
                return
            kept = file.read()
    except OSError:
        return  # there are none
    _read = now
    for system, inode, made_ns in _RECORD.iter_unpack(kept[:len(kept) // _RECORD.size * _RECORD.size]):
        _guests.add((system, inode, made_ns))


class Place:
    """Where a file is, or is to be. Its folder is held: what is moved or replaced meanwhile leads nowhere else."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder: Optional[int] = None
        self._is_guests = False
        self._name = os.path.realpath(path)
        if not hasattr(os, "O_PATH"):
            return
        _read_kept()
        if _guests:
            self._folder, self._name, self._is_guests = _Walk(path).go()

    def __enter__(self) -> Place:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._folder is not None:
            os.close(self._folder)

    def stat(self) -> Optional[os.stat_result]:
        """Of what is there; None: nothing."""
        try:
            return os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, flags: int, mode: int = 0o666, suffix: str = "") -> int:
        """A descriptor of it, or of what lies beside it."""
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        if self._is_guests:  # who waits for a pipe there waits for a guest
            flags |= os.O_NONBLOCK
        try:
            opened = os.open(self._beside(suffix), flags, mode, dir_fd=self._folder)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, self.path) from None
        kind = os.fstat(opened).st_mode
        if not self._is_guests or stat.S_ISREG(kind) or stat.S_ISDIR(kind):
            return opened
        os.close(opened)
        raise PermissionError(13, "it is no file, and lies in a folder that guests may write to", self.path)

    def make_folder(self) -> None:
        os.mkdir(self._name, dir_fd=self._folder)

    def take(self, suffix: str) -> None:
        """What lies beside it takes its place."""
        os.replace(self._beside(suffix), self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def drop(self, suffix: str) -> None:
        os.unlink(self._beside(suffix), dir_fd=self._folder)

    def _beside(self, suffix: str) -> str:
        """A name may have 255 bytes: behind one that leaves no room the suffix is the whole name."""
        folder, name = os.path.split(self._name)
        if not suffix or len(os.fsencode(name + suffix)) <= 255:
            return self._name + suffix
        return os.path.join(folder, suffix)


class _Walk:
    """A path, followed step by step from folders that are held."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._steps: List[int] = []
        self._left: List[Tuple[str, int]] = []  # the next name last, with the step above which it may not lead

    def go(self) -> Tuple[int, str, bool]:
        """The folder, the name there, and whether guests may have put there what has it."""
        try:
            self._begin()
            self._push(self._path, 0)
            return self._follow(), self._name, any(_identity(step) in _guests for step in self._steps)
        except OSError as error:
            if error.filename is None:
                raise
            raise type(error)(error.errno, error.strerror, self._path) from None
        finally:
            for step in self._steps:
                os.close(step)

    def _begin(self) -> None:
        for step in self._steps:
            os.close(step)
        self._steps = []
        self._steps.append(os.open("/", os.O_PATH | os.O_CLOEXEC))

    def _push(self, text: str, floor: int) -> None:
        self._left += [(name, floor) for name in reversed(text.split("/")) if name not in ("", ".")]

    def _follow(self) -> int:
        links = 0
        self._name = "."
        while self._left:
            self._name, floor = self._left.pop()
            if self._name == "..":
                if floor and len(self._steps) - 1 <= floor:
                    raise self._refusal()
                if len(self._steps) > 1:
                    os.close(self._steps.pop())
                self._name = "."
                continue
            try:
                step = os.open(self._name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._steps[-1])
            except FileNotFoundError:
                if self._left:
                    raise
                break
            mode = os.fstat(step).st_mode
            if stat.S_ISLNK(mode):
                text = os.readlink("", dir_fd=step)
                os.close(step)
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(40, "Too many levels of symbolic links", self._path)
                self._splice(text, floor)
            elif stat.S_ISDIR(mode) and self._left:
                self._steps.append(step)
            else:
                os.close(step)
                if self._left:
                    raise NotADirectoryError(20, "Not a directory", self._path)
        return os.dup(self._steps[-1])

    def _splice(self, text: str, floor: int) -> None:
        for at in range(len(self._steps) - 1, 0, -1):
            if _identity(self._steps[at]) in _guests:
                floor = max(floor, at)
                break
        if text.startswith("/"):
            if floor:
                raise self._refusal()
            self._begin()
        self._push(text, floor)
        self._name = "."

    def _refusal(self) -> PermissionError:
        return PermissionError(13, "a link in a folder that guests may write to leads out of it", self._path)
