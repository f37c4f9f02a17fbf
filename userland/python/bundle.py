"""Writes a bundle: file sets with their packages' data, laid out so that the host maps it and copies nothing.

    0   "CLPYBND1"
    8   u64 json bytes, u64 files, u64 string bytes, u64 offset of the data
    40  JSON: {"id", "packages": [{name, version, summary, requires, extras, provides, first, count}]}, padded to 8
        files: {u32 name offset, u32 name bytes, u64 data offset, u64 data bytes} each
        strings: the names, relative to the package's root, UTF-8
        data: each file at a multiple of 16, once where several are the same

Numbers are little endian. A package owns the files [first, first + count).
"""
import hashlib
import json
import os
import struct
import tempfile
from pathlib import Path

MAGIC = b"CLPYBND1"


def write(path: Path, packages: list[dict]) -> None:
    """`packages`: dicts as in the JSON, with `files` ({relative name: bytes}) in place of first and count."""
    described, table, names, contents = [], [], bytearray(), {}
    data_at = 0
    for package in packages:
        entry = {key: value for key, value in package.items() if key != "files"}
        entry["first"], entry["count"] = len(table), len(package["files"])
        described.append(entry)
        for name, content in sorted(package["files"].items()):
            encoded = name.encode()
            if content not in contents:
                contents[content] = data_at
                data_at += -(-len(content) // 16) * 16
            table.append((len(names), len(encoded), contents[content], len(content)))
            names += encoded
    places = b"".join(struct.pack("<IIQQ", *place) for place in table)
    digest = hashlib.sha256(json.dumps(described).encode() + names + places)
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    text = json.dumps({"id": digest.hexdigest(), "packages": described}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    start = 40 + len(text) + 24 * len(table) + len(names)
    data_start = -(-start // 4096) * 4096
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(MAGIC + struct.pack("<4Q", len(text), len(table), len(names), data_start))
            out.write(text)
            out.write(b"".join(struct.pack("<IIQQ", name, length, data_start + at, size) for name, length, at, size in table))
            out.write(names)
            for content, at in contents.items():
                out.seek(data_start + at)
                out.write(content)
            out.truncate(data_start + data_at)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
