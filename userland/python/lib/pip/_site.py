"""What is installed, and where: the registry's packages in the system's site-packages, wheels in the user's or in a virtual
environment's.
"""
import email.parser
import os
import re
import sys

from _cloche.host import door

from ._errors import PipError
from ._metadata import requirements_of
from ._vendor.packaging.utils import canonicalize_name

SYSTEM = "/usr/lib/python3.15/site-packages"
LINKED = "/usr/lib/python"  # a folder for each package of the registry that is installed


def in_virtual_environment():
    return sys.prefix != sys.base_prefix


def wheel_folder():
    """Where wheels go."""
    if in_virtual_environment():
        return os.path.join(sys.prefix, "lib/python3.15/site-packages")
    return os.path.join(os.path.expanduser("~"), ".local/lib/python3.15/site-packages")


def script_folder():
    if in_virtual_environment():
        return os.path.join(sys.prefix, "bin")
    return os.path.join(os.path.expanduser("~"), ".local/bin")


def folders():
    """Where distributions are looked for, the first one wins."""
    if in_virtual_environment() and SYSTEM not in sys.path:
        return [wheel_folder()]
    return [wheel_folder(), SYSTEM]


class Distribution:
    """An installed distribution: its dist-info folder tells what it is."""

    def __init__(self, folder, info):
        self.folder, self.info = folder, info
        with open(os.path.join(folder, info, "METADATA"), encoding="utf-8", errors="replace") as file:
            self.metadata = email.parser.Parser().parse(file, headersonly=True)
        self.name = self.metadata["Name"] or ""
        self.version = self.metadata["Version"] or ""
        self.key = canonicalize_name(self.name)

    @property
    def of_registry(self):
        return self.folder == SYSTEM

    def requirements(self):
        return requirements_of(self.metadata)

    def files(self):
        """Names in RECORD, relative to `folder`."""
        import csv
        try:
            with open(os.path.join(self.folder, self.info, "RECORD"), encoding="utf-8", newline="") as file:
                return [row[0] for row in csv.reader(file) if row]
        except FileNotFoundError:
            return []
        except (csv.Error, UnicodeDecodeError):
            raise PipError(f"The RECORD of {self.name} {self.version} in {self.folder} is damaged: remove its files by hand.") from None

    def has(self, name):
        return os.path.exists(os.path.join(self.folder, self.info, name))

    def _origin(self):
        """What direct_url.json says; {}: it was found by its name."""
        if not self.has("direct_url.json"):
            return {}
        import json
        with open(os.path.join(self.folder, self.info, "direct_url.json"), encoding="utf-8") as file:
            return json.load(file)

    def editable_location(self):
        """The project folder of one that was installed with -e."""
        record = self._origin()
        return record["url"].removeprefix("file://") if record.get("dir_info", {}).get("editable") else None

    def repository(self):
        """The address and commit of one that came from a repository, as pip is asked for it."""
        record = self._origin()
        if "vcs_info" not in record:
            return None
        folder = f"#subdirectory={record['subdirectory']}" if record.get("subdirectory") else ""
        return f"{record['vcs_info']['vcs']}+{record['url']}@{record['vcs_info']['commit_id']}{folder}"


def installed(paths=None):
    """Canonical name -> Distribution."""
    found = {}
    for folder in paths or folders():
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            if name.endswith(".dist-info"):
                try:
                    distribution = Distribution(folder, name)
                except OSError:
                    continue
                if distribution.name and distribution.version:  # or it is none of whom anything is known
                    found.setdefault(distribution.key, distribution)
    return found


def link(name):
    """Links a package of the registry into place."""
    _ask(b"i", name)


def unlink(name):
    _ask(b"u", name)


def _ask(what, name):
    frame = bytearray(b"pkg0" + what + name.encode())
    frame += bytes(-len(frame) % 8)
    import _host
    _host.call(frame)
    result = int.from_bytes(frame[:8], "little", signed=True)
    if result < 0:
        raise door.error(-result, name)


def normal_name(text):
    return canonicalize_name(re.sub(r"\[.*", "", text).strip())
