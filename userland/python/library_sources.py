#!/usr/bin/env python3
"""The library's source text, for tracebacks, inspect and pdb: the interpreter's wheel has compiled modules alone.

    userland/python/library_sources.py      prints the folder that has it, or nothing where it cannot be had

No registry has the text of 3.15.0; Debian has that of 3.15.2. A module's text is taken where compiling it gives the very code that the
wheel has, lines and constants included: all but those of DIFFERENT (a test compiles each again). Debian keeps a version until the next
one comes. Without it a build is whole but for these texts.
"""
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "build"))

import sources  # noqa: E402
from common import BuildError, cache_root, locked, say  # noqa: E402

PACKAGES = [
    {"kind": "debian-package", "package": "libpython3.15-minimal", "version": "3.15.2-1", "file": "libpython3.15-minimal_3.15.2-1_amd64.deb",
     "sha256": "1cd6e6860993a912b4ec41c2262f9001c8911ed9e8740a2c79d1f94bc9088047"},
    {"kind": "debian-package", "package": "libpython3.15-stdlib", "version": "3.15.2-1", "file": "libpython3.15-stdlib_3.15.2-1_amd64.deb",
     "sha256": "fabb8a62a20704a57bfe80c009a8c846821c6632acf8f433fbf3442cae893e42"},
]
# Modules that the two versions have different code of.
DIFFERENT = frozenset("""
    _missing_stdlib_info.py _pydatetime.py _pydecimal.py _pyio.py _pyrepl/_module_completer.py _pyrepl/console.py
    _pyrepl/historical_reader.py _pyrepl/readline.py _pyrepl/simple_interact.py annotationlib.py argparse.py asyncio/base_events.py
    asyncio/proactor_events.py asyncio/selector_events.py asyncio/sslproto.py asyncio/streams.py asyncio/tasks.py asyncio/tools.py
    asyncio/unix_events.py asyncio/windows_events.py bdb.py code.py compileall.py concurrent/interpreters/__init__.py
    concurrent/interpreters/_queues.py copy.py ctypes/__init__.py ctypes/util.py curses/__init__.py dataclasses.py doctest.py
    email/_header_value_parser.py email/message.py getopt.py gettext.py gzip.py hmac.py http/client.py http/cookiejar.py imaplib.py
    importlib/_bootstrap.py importlib/_bootstrap_external.py inspect.py ipaddress.py json/decoder.py linecache.py logging/__init__.py
    logging/config.py logging/handlers.py mailbox.py mimetypes.py multiprocessing/connection.py multiprocessing/context.py
    multiprocessing/util.py ntpath.py nturl2path.py optparse.py pathlib/__init__.py pdb.py plistlib.py
    profiling/sampling/_sync_coordinator.py profiling/sampling/binary_collector.py profiling/sampling/heatmap_collector.py
    profiling/sampling/stack_collector.py pydoc.py pydoc_data/module_docs.py pydoc_data/topics.py queue.py site.py subprocess.py
    sysconfig/__init__.py tarfile.py threading.py traceback.py turtle.py unittest/mock.py uuid.py xml/dom/expatbuilder.py
    xml/dom/minidom.py xml/etree/ElementTree.py xml/sax/__init__.py xml/sax/saxutils.py xml/sax/xmlreader.py zipapp.py
    zipfile/__init__.py zipfile/_path/__init__.py zipfile/_path/_functools.py zipimport.py zoneinfo/_zoneinfo.py
""".split())
_ASK_AGAIN_S = 86400


def text_of(folder: Path | None, compiled: str) -> bytes | None:
    """Of a compiled module, by its name in the library."""
    name = compiled.removesuffix("c")
    if folder is None or not compiled.endswith(".pyc") or name in DIFFERENT:
        return None
    try:
        return (folder / name).read_bytes()
    except OSError:
        return None


def folder() -> Path | None:
    """Unpacked in the cache; None where Debian does not have the version any more, or there is no network."""
    home = cache_root() / "library-sources"
    home.mkdir(parents=True, exist_ok=True)
    wanted = home / "-".join(package["sha256"][:12] for package in PACKAGES)
    library = wanted / "usr" / "lib" / "python3.15"
    missing = home / "missing"
    with locked(home / ".lock"):
        if library.is_dir():
            return library
        if missing.exists() and time.time() - missing.stat().st_mtime < _ASK_AGAIN_S:
            return None
        try:
            archives = [sources.fetch(package) for package in PACKAGES]
        except BuildError as error:
            say(f"Python's library comes without its source text: {error}")
            missing.touch()
            return None
        unpacked = wanted.with_suffix(".new")
        shutil.rmtree(unpacked, ignore_errors=True)
        for archive in archives:
            subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True)
        unpacked.rename(wanted)
        return library


if __name__ == "__main__":
    print(folder() or "")
