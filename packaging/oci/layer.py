# SPDX-License-Identifier: Apache-2.0
"""A layer of an OCI image: a compressed tar, written under the name of its digest."""
from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path

EPOCH = 1767225600  # the same input gives the same layer


class Layer:
    """Names are relative to the root; folders on the way are made. `close` ends it."""

    def __init__(self, blobs: Path, level: int) -> None:
        self.blobs, self.part = blobs, blobs / f".layer-{os.getpid()}"
        self.file = open(self.part, "wb")
        self.engine = zlib.compressobj(level, zlib.DEFLATED, 31)  # a gzip file whose head names no time
        self.plain, self.packed, self.size = hashlib.sha256(), hashlib.sha256(), 0
        self.tar = tarfile.open(fileobj=self, mode="w|", format=tarfile.GNU_FORMAT)
        self.known: set[str] = set()

    def write(self, data: bytes) -> int:
        """For the tar writer."""
        self.plain.update(data)
        self._put(self.engine.compress(data))
        return len(data)

    def _put(self, data: bytes) -> None:
        self.packed.update(data)
        self.size += len(data)
        self.file.write(data)

    def _entry(self, name: str, kind: bytes, mode: int, owner: int = 0) -> tarfile.TarInfo:
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.mtime, entry.uid, entry.gid = kind, mode, EPOCH, owner, owner
        return entry

    def folder(self, name: str, mode: int = 0o755, owner: int = 0) -> None:
        if name in self.known or not name:
            return
        self.folder(os.path.dirname(name))
        self.known.add(name)
        self.tar.addfile(self._entry(name, tarfile.DIRTYPE, mode, owner))

    def link(self, name: str, target: str) -> None:
        self.folder(os.path.dirname(name))
        entry = self._entry(name, tarfile.SYMTYPE, 0o777)
        entry.linkname = target
        self.tar.addfile(entry)

    def add(self, name: str, source: Path | bytes, mode: int = 0o644) -> None:
        self.folder(os.path.dirname(name))
        entry = self._entry(name, tarfile.REGTYPE, mode)
        with io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as stream:
            entry.size = stream.seek(0, os.SEEK_END)
            stream.seek(0)
            self.tar.addfile(entry, stream)

    def tree(self, top: Path, files: Iterable[Path]) -> None:
        """Files and links below `top`, which is the root."""
        for path in sorted(files):
            name = str(path.relative_to(top))
            if path.is_symlink():
                self.link(name, os.readlink(path))
            else:
                self.add(name, path, 0o755 if os.access(path, os.X_OK) else 0o644)

    def close(self) -> tuple[dict, str]:
        """Its descriptor, and the digest of what it is before compression."""
        self.tar.close()
        self._put(self.engine.flush())
        self.file.close()
        digest = self.packed.hexdigest()
        self.part.replace(self.blobs / digest)
        return ({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": f"sha256:{digest}",
                 "size": self.size}, f"sha256:{self.plain.hexdigest()}")
