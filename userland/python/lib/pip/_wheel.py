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

from ._errors import PipError
from ._metadata import requirements_of
from ._vendor.packaging.specifiers import InvalidSpecifier, SpecifierSet
from ._vendor.packaging.utils import InvalidWheelFilename, parse_wheel_filename

PYTHON = "3.15.0"
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
            return zipfile.ZipFile(self.path)
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
                    text = box.read(self.info_folder(box) + "/METADATA")
                except KeyError:
                    raise PipError(f"Wheel '{self.file_name}' is invalid: it has no METADATA.") from None
                except (OSError, *_DAMAGE):
                    raise PipError(f"Wheel '{self.file_name}' located at {self.path} is invalid: its METADATA is damaged.") from None
            self._metadata = email.parser.Parser().parsestr(text.decode("utf-8", "replace"), headersonly=True)
        return self._metadata

    def requirements(self):
        return requirements_of(self.metadata)

    def has_native_code(self):
        with self._open() as box:
            return any(name.endswith((".so", ".pyd", ".dylib", ".dll", ".a")) for name in box.namelist())

    def sha256(self):
        with open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def install(self, target, scripts, direct=False):
        """Unpacks it; the files of an installation that fails are removed. `direct`: named as a file, which is noted."""
        with self._open() as box:
            _Unpacking(self, box, target, scripts, direct).run()


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
    def __init__(self, wheel, box, target, scripts, direct):
        self.wheel, self.box, self.target, self.scripts, self.direct = wheel, box, target, scripts, direct
        self.info = wheel.info_folder(box)
        self.rows = []
        self.made = []

    def run(self):
        try:
            self._unpack()
        except BaseException:
            for path in self.made:
                try:
                    os.unlink(path)
                except OSError:
                    pass
            raise

    def _unpack(self):
        recorded = self._record()
        data = self.info.removesuffix(".dist-info") + ".data/"
        for member in self.box.infolist():
            name = member.filename
            if member.is_dir() or name == f"{self.info}/RECORD" or name.endswith((".jws", ".p7s")):
                continue
            content = self.box.read(member)
            self._check(name, content, recorded)
            self._place(name, content, data, executable=bool(member.external_attr >> 16 & 0o111))
        for name, target in self._entry_points():
            self._write(self.scripts, name, _LAUNCHER.format(**target).encode(), executable=True)
        self._write(self.target, f"{self.info}/INSTALLER", b"pip\n")
        if self.direct:
            record = self.wheel.record or {"archive_info": {"hashes": {"sha256": self.wheel.sha256()}}, "url": self.wheel.origin}
            self._write(self.target, f"{self.info}/direct_url.json", json.dumps(record).encode())
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([*self.rows, (f"{self.info}/RECORD", "", "")])
        self._write(self.target, f"{self.info}/RECORD", out.getvalue().encode())

    def _record(self):
        try:
            text = self.box.read(f"{self.info}/RECORD").decode("utf-8", "replace")
        except KeyError:
            raise PipError(f"Wheel '{self.wheel.file_name}' is invalid: it has no RECORD.") from None
        return {row[0]: row[1] for row in csv.reader(io.StringIO(text)) if len(row) >= 2}

    def _check(self, name, content, recorded):
        kind, _, digest = recorded.get(name, "").partition("=")
        if kind in hashlib.algorithms_guaranteed and digest:
            own = base64.urlsafe_b64encode(hashlib.new(kind, content).digest()).rstrip(b"=").decode()
            if own != digest.rstrip("="):
                raise PipError(f"Wheel '{self.wheel.file_name}' is damaged: {name} is not the file that its RECORD names.")

    def _place(self, name, content, data, executable):
        if not name.startswith(data):
            return self._write(self.target, name, content)
        kind, _, rest = name.removeprefix(data).partition("/")
        if kind in ("purelib", "platlib"):
            self._write(self.target, rest, content)
        elif kind == "scripts":
            if content.startswith(b"#!python"):
                content = b"#!" + interpreter().encode() + content[content.find(b"\n"):]
            self._write(self.scripts, rest, content, executable=True)
        elif kind == "data":
            self._write(os.path.dirname(self.scripts), rest, content, executable)

    def _write(self, folder, name, content, executable=False):
        path = os.path.normpath(os.path.join(folder, name))
        if not path.startswith(os.path.normpath(folder) + os.sep):
            raise PipError(f"Wheel '{self.wheel.file_name}' is invalid: {name!r} would lie outside of {folder}.")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.islink(path):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(content)
        self.made.append(path)
        if executable:
            os.chmod(path, 0o755)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if not name.endswith(".dist-info/RECORD"):
            self.rows.append((os.path.relpath(path, self.target), f"sha256={digest}", str(len(content))))

    def _entry_points(self):
        try:
            text = self.box.read(f"{self.info}/entry_points.txt").decode()
        except KeyError:
            return []
        return script_targets(text)


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
    parser.read_string(text)
    found = []
    for section in ("console_scripts", "gui_scripts"):
        for name, target in (parser.items(section) if parser.has_section(section) else ()):
            module, _, call = target.split("[")[0].strip().partition(":")
            call = call.strip()
            if module and call and "/" not in name:
                found.append((name, {"python": interpreter(), "module": module.strip(), "first": call.split(".")[0], "call": call}))
    return found


def remove(distribution, prefix):
    """Removes the files of an installed wheel, and folders that are empty then. What its RECORD names elsewhere than in its folder or
    below `prefix` stays: a wheel may have brought that RECORD as one of its files.
    """
    folders = set()
    own = tuple(os.path.normpath(place) + os.sep for place in (distribution.folder, prefix))
    for name in distribution.files():
        path = os.path.normpath(os.path.join(distribution.folder, name))
        if not path.startswith(own):
            continue
        try:
            os.unlink(path)
        except OSError:
            pass
        cache = os.path.join(os.path.dirname(path), "__pycache__")
        if path.endswith(".py") and os.path.isdir(cache):
            shutil.rmtree(cache, ignore_errors=True)
        folders.add(os.path.dirname(path))
    shutil.rmtree(os.path.join(distribution.folder, distribution.info), ignore_errors=True)
    home = os.path.normpath(distribution.folder)
    for folder in sorted(folders, key=len, reverse=True):
        while folder.startswith(home + os.sep):
            try:
                os.rmdir(folder)
            except OSError:
                break
            folder = os.path.dirname(folder)
