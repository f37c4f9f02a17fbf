"""Wheel files: what they say of themselves, whether they fit, and how they are unpacked."""
import base64
import configparser
import csv
import email.parser
import hashlib
import io
import json
import os
import shutil
import stat
import struct
import sys
import zipfile
import zlib

from ._change import Staged
from ._errors import PipError
from ._metadata import requirements_of
from ._vendor.packaging.specifiers import InvalidSpecifier, SpecifierSet
from ._vendor.packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from ._vendor.packaging.version import InvalidVersion, Version

PYTHON = "3.15.0"
_CHUNK_BYTES = 1 << 17
# Of what is in memory as a whole: the list of all files of an archive, and texts in it.
_MOST_LIST_BYTES, _MOST_METADATA_BYTES, _MOST_TEXT_BYTES = 16 << 20, 16 << 20, 64 << 20
_PACKINGS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # the others unpack a piece in memory, however large that becomes
# What zipfile says of an archive that has come to harm, is encrypted or packed by other means.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError, struct.error, UnicodeError)
_INTERPRETERS = {"py2.py3", "py3"} | {f"{kind}3{minor}" for kind in ("py", "cp") for minor in range(16)}


class Wheel:
    """A wheel file on disk. `origin`: the address that it, or its source, came from; `record`: what direct_url.json says instead."""

    def __init__(self, path, origin=None, record=None):
        self.path = path
        self.origin = origin or "file://" + os.path.abspath(path)
        self.record = record
        self.file_name = os.path.basename(path)
        try:
            self.name, version, _, self.tags = parse_wheel_filename(self.file_name)
        except InvalidWheelFilename as error:
            raise PipError(f"{self.file_name} is not the name of a wheel: {error}") from None
        self.version = str(version)
        self._metadata = None

    def _open(self):
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):
                raise PipError(f"Wheel '{self.file_name}' located at {self.path} is invalid: it is no file.")
            with open(self.path, "rb") as file:
                end = zipfile._EndRecData(file)
            if end and end[zipfile._ECD_SIZE] > _MOST_LIST_BYTES:
                raise PipError(f"Wheel '{self.file_name}' is invalid: it has too many files, in a list of more than {_MOST_LIST_BYTES >> 20} MiB.")
            box = zipfile.ZipFile(self.path)
            members = box.infolist()
            why = ("a file in it is packed by other means than deflate" if any(one.compress_type not in _PACKINGS for one in members) else
                   "some of its files are one" if len({one.header_offset for one in members}) < len(members) else "")
            if why:
                box.close()
                raise PipError(f"Wheel '{self.file_name}' is invalid: {why}.")
            return box
        except FileNotFoundError:
            raise PipError(f"Could not open requirements file: no file {self.path!r}"
                           if not self.path.endswith(".whl") else f"There is no file {self.path!r}") from None
        except OSError as error:
            raise PipError(f"Wheel '{self.file_name}' located at {self.path} cannot be read: {error.strerror}.") from None
        except _DAMAGE:
            raise PipError(f"Wheel '{self.file_name}' located at {self.path} is invalid: it is no zip archive.") from None

    def info_folder(self, box):
        found = {name.split("/")[0] for name in box.namelist() if name.split("/")[0].endswith(".dist-info")}
        if len(found) != 1:
            raise PipError(f"Wheel '{self.file_name}' is invalid: it has {len(found)} .dist-info folders, not one.")
        return found.pop()

    @property
    def metadata(self):
        if self._metadata is None:
            with self._open() as box:
                try:
                    text = self.text_in(box, self.info_folder(box), "METADATA", _MOST_METADATA_BYTES)
                except KeyError:
                    raise PipError(f"Wheel '{self.file_name}' is invalid: it has no METADATA.") from None
                except (OSError, *_DAMAGE):
                    raise PipError(f"Wheel '{self.file_name}' located at {self.path} is invalid: its METADATA is damaged.") from None
            self._metadata = email.parser.Parser().parsestr(text.decode("utf-8", "replace"), headersonly=True)
        return self._metadata

    def text_in(self, box, info, name, most=_MOST_TEXT_BYTES):
        with box.open(f"{info}/{name}") as file:
            text = file.read(most + 1)
        if len(text) > most:
            raise PipError(f"Wheel '{self.file_name}' is invalid: its {name} has more than {most >> 20} MiB.")
        return text

    def requirements(self):
        return requirements_of(self.metadata)

    def has_native_code(self):
        with self._open() as box:
            return any(name.endswith((".so", ".pyd", ".dylib", ".dll", ".a")) for name in box.namelist())

    def sha256(self):
        with open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def stage(self, change, target, scripts, direct=False):
        """Unpacks and checks it in the change's own folder; `place` of what it gives puts that where it belongs. `direct`: named as a
        file, which is noted.
        """
        with self._open() as box:
            return _Unpacking(self, box, change, target, scripts, direct).run()

    def check_names(self, info):
        """That what it says of itself is of no other distribution."""
        said = self.metadata["Name"], self.metadata["Version"]
        try:
            same = said[0] and said[1] and canonicalize_name(said[0]) == self.name and Version(said[1]) == Version(self.version)
        except InvalidVersion:
            same = False
        if not same:
            raise PipError(f"Wheel '{self.file_name}' is invalid: its METADATA is of {said[0]} {said[1]}.")
        whole = info.removesuffix(".dist-info")
        if canonicalize_name(whole.rpartition("-")[0] or whole) != self.name:
            raise PipError(f"Wheel '{self.file_name}' is invalid: its folder {info} is of another distribution.")


def fits(tags):
    """Whether a wheel with these tags is pure Python for this interpreter."""
    return any(tag.abi == "none" and tag.platform == "any" and tag.interpreter in _INTERPRETERS for tag in tags)


def foreign(wheel):
    """Why one that does not fit cannot be used, one sentence."""
    kinds = ", ".join(sorted(str(tag) for tag in wheel.tags)[:3])
    if all(tag.platform == "any" and tag.abi == "none" for tag in wheel.tags):
        return f"{wheel.file_name} is for another Python ({kinds}); this one is {PYTHON}."
    return (f"{wheel.file_name} is not a supported wheel on this platform: it has native code for {kinds}, and only pure-Python "
            "wheels (...-none-any.whl) can be installed here.")


def incompatibility(wheel):
    """Why it cannot be used here, one sentence; empty when it can."""
    if not fits(wheel.tags):
        return foreign(wheel)
    wanted = wheel.metadata["Requires-Python"]
    try:
        if wanted and not SpecifierSet(wanted).contains(PYTHON, prereleases=True):
            return f"{wheel.file_name} requires a different Python: {PYTHON} not in '{wanted}'."
    except InvalidSpecifier:
        pass
    return ""


class _Unpacking:
    """Unpacks a wheel into a change's own folder, and checks it."""

    def __init__(self, wheel, box, change, target, scripts, direct):
        self.wheel, self.box, self.change, self.target, self.scripts, self.direct = wheel, box, change, target, scripts, direct
        self.info = wheel.info_folder(box)
        self.staged = Staged(change)
        self.rows = {}  # of RECORD, by the path

    def run(self):
        try:
            self._unpack()
        except _DAMAGE:
            raise self._refusal("a file in it is damaged") from None
        return self.staged

    def _unpack(self):
        self.wheel.check_names(self.info)
        recorded = self._record()
        data = self.info.removesuffix(".dist-info") + ".data/"
        for member in self.box.infolist():
            name = member.filename
            if member.is_dir() or name == f"{self.info}/RECORD" or name.endswith((".jws", ".p7s")):
                continue
            place = self._place_of(name, data, executable=bool(member.external_attr >> 16 & 0o111))
            if place is not None:
                with self.box.open(member) as file:
                    self._make(*place, file, name, recorded.get(name, ""))
        for name, target in self._entry_points():
            self._make_text(self.scripts, name, _LAUNCHER.format(**target), executable=True)
        self._make_text(self.target, f"{self.info}/INSTALLER", "pip\n")
        if self.direct:
            record = self.wheel.record or {"archive_info": {"hashes": {"sha256": self.wheel.sha256()}}, "url": self.wheel.origin}
            self._make_text(self.target, f"{self.info}/direct_url.json", json.dumps(record))
        record = os.path.normpath(os.path.join(self.target, self.info, "RECORD"))
        self.rows.pop(record, None)
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([*self.rows.values(), (f"{self.info}/RECORD", "", "")])
        self._make_text(self.target, f"{self.info}/RECORD", out.getvalue())

    def _record(self):
        try:
            text = self.wheel.text_in(self.box, self.info, "RECORD").decode("utf-8", "replace")
        except KeyError:
            raise self._refusal("it has no RECORD") from None
        try:
            return {row[0]: row[1] for row in csv.reader(io.StringIO(text)) if len(row) >= 2}
        except csv.Error:
            raise self._refusal("its RECORD is damaged") from None

    def _place_of(self, name, data, executable):
        """(folder, name in it, whether it is executed, whether it is a script); None: nowhere."""
        if not name.startswith(data):
            return self.target, name, False, False
        kind, _, rest = name.removeprefix(data).partition("/")
        if kind in ("purelib", "platlib"):
            return self.target, rest, False, False
        if kind == "scripts":
            return self.scripts, rest, True, True
        if kind == "data":
            return os.path.dirname(self.scripts), rest, executable, False
        return None

    def _make(self, folder, name, executable, script, file, member, recorded):
        kind, _, digest = recorded.partition("=")
        told = hashlib.new(kind) if kind in hashlib.algorithms_guaranteed and digest and not kind.startswith("shake_") else None
        made, own, size = self.change.new(), hashlib.sha256(), 0
        with open(made, "wb") as out:
            while chunk := file.read(_CHUNK_BYTES):
                if told:
                    told.update(chunk)
                if script and size == 0 and chunk.startswith(b"#!python"):
                    chunk = b"#!" + interpreter().encode() + b"\n" + chunk.partition(b"\n")[2]
                own.update(chunk)
                out.write(chunk)
                size += len(chunk)
        if told and _text_of(told) != digest.rstrip("="):
            raise PipError(f"Wheel '{self.wheel.file_name}' is damaged: {member} is not the file that its RECORD names.")
        self._add(folder, name, made, executable, own, size)

    def _make_text(self, folder, name, text, executable=False):
        content = text.encode("utf-8", "surrogateescape")
        made = self.change.new()
        with open(made, "wb") as out:
            out.write(content)
        self._add(folder, name, made, executable, hashlib.sha256(content), len(content))

    def _add(self, folder, name, made, executable, digest, size):
        path = os.path.normpath(os.path.join(folder, name))
        if not path.startswith(os.path.normpath(folder) + os.sep):
            raise self._refusal(f"{name!r} would lie outside of {folder}")
        below = os.path.relpath(path, self.target)
        first = below.split(os.sep)[0]
        if first.endswith(".dist-info") and first != self.info and os.path.lexists(os.path.join(self.target, first)):
            raise self._refusal(f"{name!r} belongs to another distribution, which is installed")
        self.staged.add(path, made, executable)
        self.rows[path] = below, f"sha256={_text_of(digest)}", str(size)

    def _refusal(self, why):
        return PipError(f"Wheel '{self.wheel.file_name}' is invalid: {why}.")

    def _entry_points(self):
        try:
            text = self.wheel.text_in(self.box, self.info, "entry_points.txt").decode()
        except KeyError:
            return []
        return script_targets(text)


def _text_of(digest):
    return base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


_LAUNCHER = """#!{python}
import sys
from {module} import {first}
if __name__ == "__main__":
    sys.exit({call}())
"""


def interpreter():
    """What a script of this environment starts with."""
    return sys.executable if sys.prefix != sys.base_prefix else "/usr/bin/python3"


def script_targets(text):
    """(name, fields of the launcher) of the console scripts in an entry_points.txt."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str
    try:
        parser.read_string(text)
    except configparser.Error:
        raise PipError("The list of its entry points is damaged.") from None
    found = []
    for section in ("console_scripts", "gui_scripts"):
        for name, target in (parser.items(section) if parser.has_section(section) else ()):
            module, _, call = target.split("[")[0].strip().partition(":")
            module, call = module.strip(), call.strip()
            if "/" in name or "\0" in name or name in (".", "..") or not all(map(_is_dotted_name, (module, call))):
                raise PipError(f"Invalid script entry point: {name!r} = {target!r}")
            found.append((name, {"python": interpreter(), "module": module, "first": call.split(".")[0], "call": call}))
    return found


def _is_dotted_name(text):
    return bool(text) and all(part.isidentifier() for part in text.split("."))


def remove(distribution, prefix, change=None):
    """Removes the files of an installed wheel, and folders that are empty then. What its RECORD names elsewhere than in its folder or
    below `prefix` stays: a wheel may have brought that RECORD as one of its files. `change`: what can be taken back is.
    """
    take = change.take if change else os.unlink
    folders = set()
    own = tuple(os.path.normpath(place) + os.sep for place in (distribution.folder, prefix))
    for name in distribution.files():
        path = os.path.normpath(os.path.join(distribution.folder, name))
        if not path.startswith(own):
            continue
        try:
            if not os.path.isdir(path) or os.path.islink(path):
                take(path)
        except OSError:
            pass
        cache = os.path.join(os.path.dirname(path), "__pycache__")
        if path.endswith(".py") and os.path.isdir(cache):
            shutil.rmtree(cache, ignore_errors=True)
        folders.add(os.path.dirname(path))
    info = os.path.join(distribution.folder, distribution.info)
    if change:
        change.take(info)
    else:
        shutil.rmtree(info, ignore_errors=True)
    home = os.path.normpath(distribution.folder)
    for folder in sorted(folders, key=len, reverse=True):
        while folder.startswith(home + os.sep):
            try:
                os.rmdir(folder)
            except OSError:
                break
            folder = os.path.dirname(folder)
