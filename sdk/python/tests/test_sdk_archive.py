# SPDX-License-Identifier: Apache-2.0
"""The reader of what a sandbox has packed, which may be anything."""
import io
import lzma
import os
import tarfile
import tempfile
import unittest
from pathlib import Path
from typing import Any, List, Optional

from cloche import SandboxError
from cloche._archive import members
from cloche._trees import extract

BLOCK = 512


def packed(*infos: tarfile.TarInfo, content: bytes = b"", form: int = tarfile.GNU_FORMAT) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=form) as tar:
        for info in infos:
            tar.addfile(info, io.BytesIO(content))
    return archive.getvalue()


def info(name: str, kind: bytes = tarfile.REGTYPE, **more: Any) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type = kind
    for key, value in more.items():
        setattr(made, key, value)
    return made


def signed(head: bytes) -> bytes:
    head = head[:148] + b" " * 8 + head[156:]
    return head[:148] + b"%06o\0 " % sum(head) + head[156:]


def changed(archive: bytes, at: int, field: bytes, head: int = 0) -> bytes:
    """With that in one of its heads."""
    old = archive[head:head + BLOCK]
    return archive[:head] + signed(old[:at] + field + old[at + len(field):]) + archive[head + BLOCK:]


class Reading(unittest.TestCase):
    def test_what_programs_write_is_read_as_the_library_reads_it(self) -> None:
        long = "folder/" * 20 + "n" * 150 + "\u00e9"
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            infos = [info(".", tarfile.DIRTYPE, mode=0o755), info("./a", size=5, mtime=1_700_000_000, mode=0o640),
                     info("f/" * 60 + "x", size=5), info("b", tarfile.LNKTYPE, linkname="./a"),
                     info("c", tarfile.SYMTYPE, linkname="../a"), info("fifo", tarfile.FIFOTYPE), info("last", size=5)]
            if form != tarfile.USTAR_FORMAT:
                infos += [info(long, size=5), info("to", tarfile.SYMTYPE, linkname=long), info("later", size=5, mtime=1.5),
                          info("early", size=5, mtime=-7)]
            archive = packed(*infos, content=b"bytes", form=form)
            with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
                wanted = [(one.name.rstrip("/"), one.isfile(), one.isdir(), one.islnk(), one.issym(), one.mode, float(one.mtime),
                           one.linkname, tar.extractfile(one).read() if one.isfile() else b"")  # type: ignore[union-attr]
                          for one in tar if not one.isfifo()]
            self.assertEqual([(one.name.rstrip("/"), one.is_file, one.is_folder, one.is_link, one.is_symlink, one.mode,
                               one.modified, one.target, bytes(one.content)) for one in members(archive)], wanted)

    def test_nothing_is_larger_than_what_came(self) -> None:
        plain = packed(info("first", size=1), info("a", size=0), content=b"x")
        large = b"\x80" + (1 << 50).to_bytes(11, "big")
        pax = packed(info("a", pax_headers={"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "99999999"}),
                     form=tarfile.PAX_FORMAT)
        digits = packed(info("a", pax_headers={"comment": "1" * 100_000}), form=tarfile.PAX_FORMAT)
        at = digits.index(b" comment=") - 6
        for name, hostile in {
                "holes": changed(changed(plain, 156, b"S", 2 * BLOCK), 483, large, 2 * BLOCK),
                "holes of another kind": pax,
                "a size below zero": changed(plain, 124, b"\xff" * 10 + b"\xfe\0", 2 * BLOCK),
                "a size below zero of another kind": packed(info("a", pax_headers={"size": "-512"}), form=tarfile.PAX_FORMAT),
                "a size beyond the end": changed(plain, 124, large, 2 * BLOCK),
                "a number that is none": changed(plain, 124, b"12x\0", 2 * BLOCK),
                "what is packed": lzma.compress(packed(info("zeros", size=1 << 20), content=bytes(1 << 20))),
                "a record that is none": digits[:at] + b"1" * 100_000 + digits[at + 100_000:],
                "a link to nothing": packed(info("a", tarfile.LNKTYPE, linkname="./")),
                "another sum": plain[:3 * BLOCK - 1] + b"!" + plain[3 * BLOCK:],
                "half": plain[:BLOCK + BLOCK // 2],
                "what has no end": plain[:3 * BLOCK],
                "nothing": b""}.items():
            with self.subTest(name), self.assertRaisesRegex(SandboxError, "^EIO: the sandbox has packed its folder"):
                list(members(hostile))

    def test_of_records_what_is_wanted_is_kept(self) -> None:
        archive = packed(info("a", pax_headers={f"key{number}": "" for number in range(1000)}), form=tarfile.PAX_FORMAT)
        self.assertEqual([one.name for one in members(archive)], ["a"])


class Unpacking(unittest.TestCase):
    def _there(self, archive: bytes) -> List[str]:
        with tempfile.TemporaryDirectory() as folder:
            error: Optional[OSError] = None
            try:
                extract(archive, Path(folder, "to"))
            except OSError as caught:
                error = caught
            found = sorted(os.path.relpath(os.path.join(at, name), folder) for at, folders, files in os.walk(folder)
                           for name in folders + files)
            return found + ([type(error).__name__] if error else [])

    def test_each_head_makes_one_thing_at_most(self) -> None:
        self.assertEqual(self._there(packed(info("a/" * 500 + "x", size=1), content=b"x")), ["to", "FileNotFoundError"])
        self.assertEqual(self._there(packed(info("a", tarfile.DIRTYPE), info("a/b/c", tarfile.DIRTYPE))), ["to", "to/a", "FileNotFoundError"])
        self.assertEqual(self._there(packed(info("a/x", size=1), content=b"x")), ["to", "to/a", "to/a/x"])

    def test_one_name_that_comes_twice_is_one(self) -> None:
        self.assertEqual(self._there(packed(*2 * [info("a", tarfile.SYMTYPE, linkname="b/../../c")], info("b", tarfile.SYMTYPE, linkname="."))),
                         ["to", "to/b"])


if __name__ == "__main__":
    unittest.main()
