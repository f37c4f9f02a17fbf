# SPDX-License-Identifier: Apache-2.0
"""What sandboxes can do, once for both kinds of API.

Each operation is a generator: it yields requests, `(method, params)`, is sent their answers, and
returns its value. `cloche.Sandbox` waits for each answer; `cloche.aio.Sandbox` awaits it.
"""
from __future__ import annotations

import io
import os
import secrets
import stat as stat_bits
import tarfile
from pathlib import Path
from typing import IO, Any, Dict, Generator, Iterable, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from ._errors import SandboxArgumentError, SandboxError, error_of_name
from ._given import StrPath as StrPath
from ._given import bytes_of, check_number, local_path, mapping_of, names_of, variables
from ._places import Place, note_guest_folder
from ._table import Table
from ._trees import extract
from ._types import FileDetails, FileInfo, HistoryEntry, Mount, Packages, Usage
from ._wire import from_base64, to_base64

T = TypeVar("T")
Operation = Generator[Tuple[str, Dict[str, Any]], Any, T]
# A number, or a text such as "512m" (bytes) or "30s" (time).
Amount = Union[int, float, str]

CHUNK_BYTES = 8 << 20
MOST_ARCHIVE_BYTES = 256 << 20  # of a folder that is uploaded


def create_params(timeout_ms: Amount, fs_limit_bytes: Amount, packages: Iterable[str],
                  env: Optional[Mapping[str, str]], mounts: Iterable[Union[Mount, Tuple[Any, ...]]],
                  network: Any, image: Optional[StrPath], wasm_dir: Optional[StrPath],
                  limits: Optional[Mapping[str, Amount]], engine: Optional[str] = None,
                  user: Optional[str] = None, isolation: Optional[str] = None) -> dict[str, Any]:
    """The parameters of `sandbox.create`."""
    params: dict[str, Any] = {"timeoutMs": timeout_ms, "fsLimitBytes": fs_limit_bytes, "progress": True}
    if packages:
        params["packages"] = names_of(packages, "packages")
    if isinstance(mounts, (str, bytes)) or not isinstance(mounts, Iterable):
        raise SandboxArgumentError("mounts is a list of Mount(host, guest)")
    if env:
        params["env"] = variables(env)
    listed = [mount if isinstance(mount, Mount) else _mount(mount) for mount in mounts]
    if listed:
        for mount in listed:
            if not mount.read_only:
                note_guest_folder(local_path(mount.host, "the host of a mount"))
        params["mounts"] = [{"host": local_path(m.host, "the host of a mount"), "guest": m.guest, "readOnly": m.read_only}
                            for m in listed]
    if network is not None:
        params["network"] = network
    if image is not None:
        # With the linux engine it is a name in the store.
        params["image"] = image if engine == "linux" else local_path(image, "image")
    if wasm_dir is not None:
        params["wasmDir"] = local_path(wasm_dir, "wasm_dir")
    if engine is not None:
        params["engine"] = engine
    if user is not None:
        params["user"] = user
    if isolation is not None:
        params["isolation"] = isolation
    if limits:
        names = {"memory_bytes": "memoryBytes", "cpus": "cpus", "processes": "processes",
                 "files": "fileCount", "open_files": "openFiles"}
        unknown = [name for name in mapping_of(limits, "limits") if name not in names]
        if unknown:
            raise SandboxArgumentError(f"there is no limit {unknown[0]!r}; there are {', '.join(names)}")
        params["limits"] = {names[name]: value for name, value in limits.items()}
    return params


def remote_params(params: dict[str, Any], session_id: Optional[str], ttl: Optional[int],
                  metadata: Optional[Mapping[str, Any]]) -> dict[str, Any]:
    """What a server is asked for besides."""
    more: dict[str, Any] = {}
    if session_id is not None:
        more["sessionId"] = session_id
    if ttl is not None:
        more["ttl"] = ttl
    if metadata is not None:
        more["metadata"] = dict(mapping_of(metadata, "metadata"))
    return {**params, **more}


def _mount(given: Any) -> Mount:
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise SandboxArgumentError(f"a mount is Mount(host, guest, read_only), or such a tuple; not {given!r}")
    return Mount(*given)


def refuse_remote(**options: Any) -> None:
    """Options that only servers have, for a sandbox of this machine."""
    for name, value in options.items():
        if value is not None:
            raise SandboxArgumentError(f"{name} is for sandboxes of a server: give url too")


def run_params(command: str, timeout_ms: Optional[float], cwd: Optional[StrPath],
               env: Optional[Mapping[str, str]], stdin: Union[str, bytes, bytearray, memoryview, None],
               stream: bool) -> dict[str, Any]:
    """The parameters of `run`."""
    if not isinstance(command, str):
        raise SandboxArgumentError("a command is a string")
    params: dict[str, Any] = {"command": command, "detail": True, "figures": True}
    if timeout_ms is not None:
        params["timeoutMs"] = timeout_ms
    if cwd is not None:
        params["cwd"] = cwd
    if env:
        params["env"] = variables(env)
    if isinstance(stdin, str):
        params["stdin"] = stdin
    elif isinstance(stdin, (bytes, bytearray, memoryview)):
        params["stdinBase64"] = to_base64(bytes(stdin))
    elif stdin is not None:
        raise SandboxArgumentError("stdin is text or bytes")
    if stream:
        params["stream"] = True
    return params


def write(path: StrPath, data: Union[str, bytes, bytearray, memoryview], mode: Optional[int],
          append: bool) -> Operation[None]:
    view = bytes_of(data)
    params: dict[str, Any] = {"path": path, "data": to_base64(bytes(view[:CHUNK_BYTES]))}
    if append:
        params["append"] = True
    if mode is not None:
        params["mode"] = mode
    yield "files.write", params
    try:
        for start in range(CHUNK_BYTES, len(view), CHUNK_BYTES):
            part = bytes(view[start:start + CHUNK_BYTES])
            yield "files.write", {"path": path, "data": to_base64(part), "append": True}
    except SandboxError as error:
        # Half a file helps nobody, and fills a sandbox that is full.
        if error.errno_name == "ENOSPC" and not append:
            yield "files.rm", {"path": path}
        raise


def read(path: StrPath, offset: int, length: Optional[int]) -> Operation[bytes]:
    check_number("offset", offset)
    if length is not None:
        check_number("length", length)
    whole = bytearray()
    while True:
        left = CHUNK_BYTES if length is None else min(CHUNK_BYTES, length - len(whole))
        reply = yield "files.read", {"path": path, "offset": offset + len(whole), "length": left}
        part = from_base64(reply["data"])
        whole += part
        if len(part) < left or len(whole) == length:
            return bytes(whole)


def list_folder(path: StrPath) -> Operation[list[FileInfo]]:
    reply = yield "files.list", {"path": path}
    return Table(FileInfo(**entry) for entry in reply["entries"])


def _details(entry: dict[str, Any]) -> FileDetails:
    return FileDetails(entry["name"], entry["type"], entry["size"], entry["mode"], entry["modifiedMs"],
                       entry["createdMs"], entry.get("target"))


def list_details(path: StrPath) -> Operation[list[FileDetails]]:
    reply = yield "files.list", {"path": path, "detail": True}
    return Table(_details(entry) for entry in reply["entries"])


def stat(path: StrPath) -> Operation[FileInfo]:
    return FileInfo(**(yield "files.stat", {"path": path}))


def lstat(path: StrPath) -> Operation[FileDetails]:
    return _details((yield "files.stat", {"path": path, "detail": True}))


def exists(path: StrPath) -> Operation[bool]:
    try:
        yield "files.stat", {"path": path}
    except SandboxError as error:
        if error.errno_name in ("ENOENT", "ENOTDIR"):
            return False
        raise
    return True


def mkdir(path: StrPath, parents: bool, exist_ok: bool) -> Operation[None]:
    try:
        if parents and isinstance(path, (str, os.PathLike)):
            parent = os.fspath(path).rstrip("/").rpartition("/")[0]
            if parent:
                yield "files.mkdir", {"path": parent, "parents": True}
        yield "files.mkdir", {"path": path}
    except SandboxError as error:
        if not exist_ok or error.errno_name != "EEXIST":
            raise
        if (yield "files.stat", {"path": path})["type"] != "dir":
            raise


def simple(method: str, **params: Any) -> Operation[None]:
    yield method, params


def glob(pattern: str) -> Operation[list[str]]:
    reply = yield "files.glob", {"pattern": pattern}
    return list(reply["paths"])


def upload(local: StrPath, remote: StrPath) -> Operation[None]:
    source = Path(local_path(local))
    if not source.is_dir():
        with Place(str(source)) as place, open(place.open(os.O_RDONLY), "rb") as file:
            append = False
            while True:
                part = file.read(CHUNK_BYTES)
                if append and not part:
                    break
                yield "files.write", {"path": remote, "data": to_base64(part), "append": append}
                append = True
            yield "files.chmod", {"path": remote, "mode": os.fstat(file.fileno()).st_mode & 0o777}
        return
    archive = _Archive(str(source))
    with tarfile.open(fileobj=archive, mode="w") as tar:
        _pack(tar, str(source))
    yield "files.tarIn", {"path": remote, "data": to_base64(archive.getvalue())}


class _Archive(io.BytesIO):
    """One that a request can carry: a file that takes no room may say that it has any number of bytes."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source

    def write(self, part: Any) -> int:
        if self.tell() + len(part) > MOST_ARCHIVE_BYTES:
            raise error_of_name("EFBIG", f"{self._source} has more than {MOST_ARCHIVE_BYTES >> 20} MiB, which is the most"
                                " of a folder: upload its parts")
        return super().write(part)


def _pack(tar: tarfile.TarFile, source: str) -> None:
    """Follows no link and waits for no pipe, also none that a guest puts there meanwhile. All of it, or an error."""
    if os.open not in os.supports_dir_fd or os.listdir not in os.supports_fd:
        tar.add(source, arcname=".", filter=_without_owner)
        return
    with Place(source) as place:
        root = place.open(os.O_RDONLY | os.O_DIRECTORY)
        try:
            _pack_folder(tar, ".", root)
        finally:
            os.close(root)


def _pack_folder(tar: tarfile.TarFile, path: str, folder: int) -> None:
    tar.addfile(_member(tar, path, ".", folder))
    for name in os.listdir(folder):
        if not stat_bits.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            _pack_one(tar, os.path.join(path, name), name, folder)
            continue
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            _pack_folder(tar, os.path.join(path, name), below)
        finally:
            os.close(below)


def _member(tar: tarfile.TarFile, path: str, name: str, at: int) -> tarfile.TarInfo:
    there = os.stat(name, dir_fd=at, follow_symlinks=False)
    member = tarfile.TarInfo(path)
    member.mode, member.mtime = stat_bits.S_IMODE(there.st_mode), int(there.st_mtime)
    if stat_bits.S_ISDIR(there.st_mode):
        member.type = tarfile.DIRTYPE
    elif stat_bits.S_ISLNK(there.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=at)
    elif stat_bits.S_ISFIFO(there.st_mode):
        member.type = tarfile.FIFOTYPE
    return _without_owner(member)


def _pack_one(tar: tarfile.TarFile, path: str, name: str, at: int) -> None:
    mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
    if stat_bits.S_ISREG(mode):
        with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at), "rb") as file:
            tar.addfile(_without_owner(tar.gettarinfo(arcname=path, fileobj=file)), file)
    elif stat_bits.S_ISLNK(mode) or stat_bits.S_ISFIFO(mode):
        tar.addfile(_member(tar, path, name, at))


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 1000
    member.uname = member.gname = "sandbox"
    return member


def download(remote: StrPath, local: StrPath) -> Operation[None]:
    info = yield "files.stat", {"path": remote}
    target = Path(local_path(local))
    if info["type"] == "dir":
        extract(from_base64((yield "files.tarOut", {"path": remote})["data"]), target)
        return
    if target.is_dir():
        target = Path(local_path(target / os.path.basename(info["name"])))
    if not Path(os.path.realpath(target)).parent.is_dir():
        raise error_of_name("ENOENT", f"there is no folder {target.parent} of this machine: make it first")
    with Place(str(target)) as place:  # a link to it stays one
        there = place.stat()
        if there is not None and not stat_bits.S_ISREG(there.st_mode):  # a device or a pipe takes the bytes itself
            with open(place.open(os.O_WRONLY), "wb") as file:
                yield from _copy(remote, file)
            return
        suffix = f".{secrets.token_hex(4)}.part"
        mode = 0o666 if there is None else 0o600
        with open(place.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, suffix), "wb") as file:
            try:
                if there is not None:
                    os.chmod(file.fileno(), there.st_mode & 0o777)
                yield from _copy(remote, file)
                file.close()  # all of it is there
                place.take(suffix)
            except BaseException:
                place.drop(suffix)
                raise


def _copy(remote: StrPath, file: IO[bytes]) -> Operation[None]:
    offset = 0
    while True:
        reply = yield "files.read", {"path": remote, "offset": offset, "length": CHUNK_BYTES}
        part = from_base64(reply["data"])
        file.write(part)
        offset += len(part)
        if len(part) < CHUNK_BYTES:
            return


def env_get(name: str) -> Operation[Optional[str]]:
    reply = yield "env.get", {"name": name}
    return None if reply["value"] is None else str(reply["value"])


def env_all() -> Operation[dict[str, str]]:
    reply = yield "env.list", {}
    return dict(reply["env"])


def packages() -> Operation[Packages]:
    return Packages(**(yield "packages.list", {}))


def install(names: Sequence[str]) -> Operation[None]:
    yield "packages.install", {"packages": list(names)}


def history() -> Operation[list[HistoryEntry]]:
    reply = yield "history.list", {}
    return Table(HistoryEntry(e["index"], e["command"], e["exitCode"], e["timestamp"], e["executionTimeMs"])
                 for e in reply["entries"])


def usage() -> Operation[Usage]:
    reply = yield "figures", {}
    return Usage(reply["fileBytes"], reply["fileInodes"], reply["memoryBytes"], reply["processes"])


def create_snapshot() -> Operation[str]:
    reply = yield "snapshot.create", {}
    return str(reply["id"])


def export(path: Optional[StrPath]) -> Operation[Optional[bytes]]:
    if path is None:
        return from_base64((yield "persistence.export", {})["data"])
    yield "persistence.export", {"path": local_path(path)}
    return None


def import_state(source: Union[StrPath, bytes]) -> Operation[None]:
    if isinstance(source, (bytes, bytearray)):
        yield "persistence.import", {"data": to_base64(bytes(source))}
    else:
        yield "persistence.import", {"path": local_path(source, "a state of export")}
