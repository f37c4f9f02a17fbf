"""Indexes: what PyPI's simple interface says of a name, as JSON or as HTML, and wheels that come from there.

Pages are PEP 503 and 691 with 592 (yanked), 658/714 (metadata beside the file) and 700. A wheel's file is fetched when it is
installed, or when only it can tell what it requires; it is accepted only with the hash that the page names.
"""
import email.parser
import html.parser
import json
import os
import re
import urllib.parse

from _cloche.libraries import native_packages

from . import _fetch
from ._build import ARCHIVES, Archive, depth
from ._errors import PipError
from ._hashes import KINDS
from ._metadata import requirements_of
from ._vendor.packaging.specifiers import InvalidSpecifier, SpecifierSet
from ._vendor.packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from ._vendor.packaging.version import Version
from ._wheel import PYTHON, Wheel, fits, foreign

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
MAX_PAGE_BYTES = 64 << 20
NATIVE = 2  # the worst that a file can be: for another machine


class Link:
    """A file that a page names. `hashes`: kind -> hex digits; `metadata`: None, or the hashes of its metadata file."""

    def __init__(self, url, file_name, hashes, requires_python=None, yanked=None, metadata=None):
        self.url, self.file_name, self.hashes = url, file_name, hashes
        self.requires_python, self.yanked, self.metadata = requires_python, yanked, metadata

    @classmethod
    def of_address(cls, address):
        """An address that a user gave, with a hash behind its # perhaps."""
        url, _, fragment = address.partition("#")
        kind, _, digits = fragment.split("&")[0].partition("=")
        name = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rsplit("/", 1)[-1])
        return cls(url, name, {kind: digits} if kind in KINDS else {})

    def suits(self):
        try:
            return not self.requires_python or SpecifierSet(self.requires_python).contains(PYTHON, prereleases=True)
        except InvalidSpecifier:
            return True


class RemoteWheel:
    """A wheel that has not been fetched yet."""

    editable = None

    def __init__(self, link, fetcher):
        self.link, self.fetcher = link, fetcher
        self.file_name = link.file_name
        try:
            self.name, version, _, self.tags = parse_wheel_filename(self.file_name)
        except InvalidWheelFilename as error:
            raise PipError(f"{self.file_name} is not the name of a wheel: {error}") from None
        self.released, self.version = version, str(version)
        self._requirements = None
        self._wheel = None

    def local(self):
        """The Wheel, fetched and checked; anew where the cache had to make room meanwhile."""
        if self._wheel is None or not os.path.exists(self._wheel.path):
            self._wheel = Wheel(self.fetcher.file(self.link), origin=self.link.url)
        return self._wheel

    def sha256(self):
        return self.link.hashes.get("sha256") or self.local().sha256()

    def requirements(self):
        if self._requirements is None:
            if self.link.metadata is None:
                self._requirements = self.local().requirements()
            else:
                text = self.fetcher.text(self.link.url + ".metadata", self.link.metadata)
                self._requirements = requirements_of(email.parser.Parser().parsestr(text, headersonly=True))
        return self._requirements

    def stage(self, change, target, scripts, direct=False):
        try:
            return self.local().stage(change, target, scripts, direct=direct)
        except OSError as error:
            change.clear()
            if not self.fetcher.makes_room_for(error):
                raise
            return self.local().stage(change, target, scripts, direct=direct)


class Index:
    """A source of candidates. One that cannot be reached is asked no more, and `problem` says why. With a `builder` source archives are
    candidates too, but those of a name that is in `ready`."""

    remote = True
    builder, ready = None, ()

    def __init__(self, url, fetcher):
        self.url, self.fetcher = url.rstrip("/") + "/", fetcher
        self.problem = ""
        self.refused = False  # by the sandbox's own network policy
        self.unfit = {}
        self.newest = {}  # name -> the newest release that it has for this version of Python, in whatever form
        self._known = {}

    @property
    def host(self):
        return urllib.parse.urlsplit(self.url).hostname or self.url

    def candidates(self, name):
        if name not in self._known:
            self._known[name] = [] if self.problem else self._ask(name)
        return self._known[name]

    def _ask(self, name):
        try:
            page = self.fetcher.page(f"{self.url}{name}/", ACCEPT, MAX_PAGE_BYTES)
        except _fetch.FetchError as error:
            if error.http_status != 404:
                self.problem, self.refused = str(error), error.refused
            return []
        return self._of_links(links(page), name)

    def _of_links(self, found, name):
        """Candidates of one name, or of all for None. What cannot be used is told in `unfit` (name -> a sentence)."""
        from ._sources import Candidate
        candidates, reasons, archives = [], {}, []
        for link in found:
            if not link.file_name.endswith(".whl"):
                if link.file_name.endswith(ARCHIVES):
                    archives.append(link)
                continue
            try:
                wheel = RemoteWheel(link, self.fetcher)
            except PipError:
                continue
            if name not in (None, wheel.name):
                continue
            suits = self._suits(link, wheel)
            if not fits(wheel.tags):
                reasons.setdefault(wheel.name, []).append((NATIVE, wheel.released, foreign(wheel)))
            elif not suits:
                reasons.setdefault(wheel.name, []).append(_other_python(link, wheel))
            else:
                candidates.append(Candidate(wheel.name, wheel.version, wheel.requirements, wheel=wheel, yanked=link.yanked))
        candidates += self._of_archives(archives, name, reasons)
        for key, texts in reasons.items():
            worst = max(kind for kind, _, _ in texts)
            self.unfit.setdefault(key, max((reason for reason in texts if reason[0] == worst), key=lambda reason: reason[1] or Version("0"))[2])
        return candidates

    def _of_archives(self, found, name, reasons):
        """Candidates that have to be built. What is known to need native code is not tried: there is no compiler here."""
        from ._sources import Candidate
        candidates = []
        for link in found:
            try:
                archive = Archive(link, self.fetcher, self.builder)
            except PipError:
                continue
            if name not in (None, archive.name):
                continue
            suits = self._suits(link, archive)
            if archive.name in self.ready or archive.name in native_packages.BY_DISTRIBUTION:
                continue
            # To build what builds something (cmake, Rust) takes long, and ends where there is no compiler.
            if depth() and any(kind == NATIVE and released == archive.released for kind, released, _ in reasons.get(archive.name, ())):
                continue
            if self.builder is None:
                reasons.setdefault(archive.name, []).append((0, None, f"{archive.name} has no wheel that can be used here, only source archives."))
            elif not suits:
                reasons.setdefault(archive.name, []).append(_other_python(link, archive))
            else:
                candidates.append(Candidate(archive.name, archive.version, archive.requirements, wheel=archive, yanked=link.yanked, built=True))
        return candidates

    def _suits(self, link, file):
        """Whether a wheel or an archive is for this version of Python."""
        suits = link.suits()
        if suits and link.yanked is None and not file.released.is_prerelease:
            self.newest[file.name] = max(file.released, self.newest.get(file.name, file.released))
        return suits


def _other_python(link, file):
    """Of a file that is for another version of it: how bad that is, its version, a sentence."""
    return 1, file.released, f"{file.file_name} requires a different Python: {PYTHON} not in '{link.requires_python}'."


def links(page):
    """The files of a page, whatever its form."""
    if "json" in page.kind:
        return _json_links(page)
    reader = _Anchors(page.url)
    reader.feed(page.text)
    return reader.found


def _json_links(page):
    try:
        files = json.loads(page.text)["files"]
        if not isinstance(files, list):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise PipError(f"{page.url} is not a page of a package index") from None
    found = []
    for entry in files:
        if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
            continue
        url = urllib.parse.urljoin(page.url, entry["url"])
        name = str(entry.get("filename") or Link.of_address(url).file_name)
        hashes = entry.get("hashes") if isinstance(entry.get("hashes"), dict) else {}
        metadata = entry.get("core-metadata", entry.get("dist-info-metadata", False))
        yanked = entry.get("yanked", False)
        found.append(Link(url.partition("#")[0], os.path.basename(name), {str(k): str(v) for k, v in hashes.items()}, entry.get("requires-python"),
                          None if yanked is False else str(yanked if yanked is not True else ""),
                          None if not metadata else metadata if isinstance(metadata, dict) else {}))
    return found


class _Anchors(html.parser.HTMLParser):
    """Links of an HTML page."""

    def __init__(self, base):
        super().__init__()
        self.base, self.found = base, []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        href = values.get("href")
        if not href:
            return
        if tag == "base":
            self.base = urllib.parse.urljoin(self.base, href)
        elif tag == "a":
            link = Link.of_address(urllib.parse.urljoin(self.base, href))
            link.requires_python = values.get("data-requires-python")
            if "data-yanked" in values:
                link.yanked = values["data-yanked"] or ""
            metadata = values.get("data-core-metadata", values.get("data-dist-info-metadata"))
            if "data-core-metadata" in values or "data-dist-info-metadata" in values:
                kind, _, digits = (metadata or "").partition("=")
                link.metadata = {kind: digits} if kind in KINDS else {}
            self.found.append(link)


class Page(Index):
    """A page of links that --find-links names by its address."""

    def candidates(self, name):
        if not self._known and not self.problem:
            try:
                page = self.fetcher.page(self.url.rstrip("/") if re.search(r"\.html?/?$", self.url) else self.url, "text/html", MAX_PAGE_BYTES)
            except _fetch.FetchError as error:
                self.problem, self.refused = str(error), error.refused
                return []
            for candidate in self._of_links(links(page), None):
                self._known.setdefault(candidate.name, []).append(candidate)
        return self._known.get(canonicalize_name(name), [])
