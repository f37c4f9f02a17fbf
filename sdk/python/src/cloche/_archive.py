# SPDX-License-Identifier: Apache-2.0
"""The archive in which a folder of a sandbox comes.

A program of the sandbox has made it, which in a linux sandbox is the guest's to replace. So it is read by something
that takes time and room in proportion to its bytes, whatever they are: a file is as large as the bytes of it that are
there, which the library's reader, with its holes, packed archives and sizes below zero, does not promise.
"""
from __future__ import annotations

import os
from typing import Dict, Iterator, NamedTuple, Tuple

from ._errors import SandboxError, error_of_name

_BLOCK = 512
_MOST_DIGITS = 20
_FILE, _LINK, _SYMLINK, _FOLDER, _SPARSE = "0", "1", "2", "5", "S"
_LONG_NAME, _LONG_TARGET, _NEXT, _ALL = "L", "K", "x", "g"
_WANTED = (b"path", b"linkpath", b"size", b"mtime")


class Member(NamedTuple):
    name: str
    kind: str  # _FILE, _LINK, _SYMLINK or _FOLDER
    mode: int
    modified: float  # seconds
    target: str  # of a link
    content: memoryview  # of a file

    @property
    def is_file(self) -> bool:
        return self.kind == _FILE

    @property
    def is_folder(self) -> bool:
        return self.kind == _FOLDER

    @property
    def is_link(self) -> bool:
        """Another name of a file that came before."""
        return self.kind == _LINK

    @property
    def is_symlink(self) -> bool:
        return self.kind == _SYMLINK


def members(archive: bytes) -> Iterator[Member]:
    """Files, folders and links, in their order; what else there may be is left out. EIO for bytes that are no archive."""
    at = 0
    told: Dict[str, str] = {}  # of the next one, what its head has no room for
    whole = memoryview(archive)
    while True:
        head = archive[at:at + _BLOCK]
        if len(head) < _BLOCK:
            raise _error("it ends in the midst")
        if not head.strip(b"\0"):
            return
        at += _BLOCK
        kind = _kind(head)
        size = 0 if kind in (_LINK, _SYMLINK, _FOLDER) else _size(told.get("size"), head)
        if size > len(archive) - at:
            raise _error("a file has more bytes than came")
        content = whole[at:at + size]
        at += -(-size // _BLOCK) * _BLOCK
        if kind == _LONG_NAME:
            told["path"] = _text(bytes(content))
        elif kind == _LONG_TARGET:
            told["linkpath"] = _text(bytes(content))
        elif kind == _NEXT:
            told.update(_records(bytes(content)))
        elif kind != _ALL:
            if kind in (_FILE, _LINK, _SYMLINK, _FOLDER):
                yield _member(head, kind, told, content)
            told = {}


def _kind(head: bytes) -> str:
    signs = sum(head[:148]) + sum(head[156:]) + 8 * ord(" ")
    if _number(head[148:156]) != signs:
        raise _error("a head is none")
    kind = chr(head[156])
    if kind in ("\0", "7"):  # of old programs, and a file that lies in one piece
        kind = _FILE
    if kind == _SPARSE:
        raise _error("a file has holes")
    return kind


def _size(told: str | None, head: bytes) -> int:
    size = _number(head[124:136]) if told is None else _decimal(told)
    if size < 0:
        raise _error("a size is below zero")
    return size


def _member(head: bytes, kind: str, told: Dict[str, str], content: memoryview) -> Member:
    name = told.get("path")
    if name is None:
        name = _text(head[:100])
        prefix = _text(head[345:500]) if head[257:263] == b"ustar\0" else ""
        if prefix:
            name = f"{prefix}/{name}"
    if kind == _FILE and name.endswith("/"):  # so old programs write folders
        kind = _FOLDER
    target = told.get("linkpath", _text(head[157:257]))
    if kind == _LINK and not target.strip("./"):
        raise _error("a link leads to no file")
    return Member(name, kind, _number(head[100:108]) & 0o7777, _time(told.get("mtime"), head), target, content)


def _time(told: str | None, head: bytes) -> float:
    if told is None:
        return float(_number(head[136:148]))
    try:
        return float(told[:_MOST_DIGITS])
    except ValueError:
        raise _error("a time is none") from None


def _number(field: bytes) -> int:
    """Octal digits, or where those are too few, a number of two's complement."""
    if field[0] in (0x80, 0xff):
        return int.from_bytes(field[1:], "big") - (0 if field[0] == 0x80 else 1 << 8 * (len(field) - 1))
    digits = field.split(b"\0", 1)[0].strip()
    if digits.strip(b"01234567"):
        raise _error("a number is none")
    return int(digits or b"0", 8)


def _decimal(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise _error("a number is none")
    return int(text)


def _records(content: bytes) -> Iterator[Tuple[str, str]]:
    """Each is its length, a name and a value."""
    at = 0
    while at < len(content):
        space = content.find(b" ", at, at + _MOST_DIGITS)
        end = at + (_decimal(_text(content[at:space])) if space > at else 0)
        name, equals, value = content[space + 1:end - 1].partition(b"=")
        if end > len(content) or end <= space or not equals or content[end - 1:end] != b"\n":
            raise _error("a record is none")
        if name.startswith(b"GNU.sparse."):
            raise _error("a file has holes")
        if name in _WANTED:
            yield _text(name), _text(value)
        at = end


def _text(field: bytes) -> str:
    return os.fsdecode(field.split(b"\0", 1)[0])


def _error(what: str) -> SandboxError:
    return error_of_name("EIO", f"the sandbox has packed its folder into what is no archive: {what}")
