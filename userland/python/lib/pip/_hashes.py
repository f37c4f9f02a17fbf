"""Hashes of files: those that indexes name, and --hash and --require-hashes, which say what files are meant. What the registry has
is a part of the sandbox and needs no hash."""
import hashlib
import re
import shlex

from ._errors import PipError
from ._vendor.packaging.utils import canonicalize_name

KINDS = ("sha256", "sha384", "sha512", "sha224", "sha1", "md5")  # that an index may name, in order of preference
_STRONG = ("sha256", "sha384", "sha512")


class Hashes:
    """By canonical name, the hashes that requirements files have; `required` once one has some, or where that is asked for."""

    def __init__(self):
        self.required = False
        self._of = {}

    def add(self, name, words):
        for word in words:
            kind, _, digits = word.partition(":")
            if kind not in _STRONG or not re.fullmatch(r"[0-9a-fA-F]+", digits):
                raise PipError(f"--hash={word}: a hash is sha256:, sha384: or sha512: and hexadecimal digits")
            self._of.setdefault(canonicalize_name(name), set()).add((kind, digits.lower()))
            self.required = True

    def choose(self, candidates):
        """Those whose file may be meant, or all where none is, for check() to say so."""
        return [c for c in candidates if c.entry is not None or not self.required or self._may_be(c)] or candidates

    def _may_be(self, candidate):
        wanted = self._of.get(candidate.name)
        link = getattr(candidate.wheel, "link", None)
        if not wanted or link is None:
            return True
        return all((kind, link.hashes[kind].lower()) in wanted for kind in {kind for kind, _ in wanted} if kind in link.hashes)

    def demand(self, requirements, registry):
        """Before anything is chosen: every requirement is pinned and has a hash, or is the registry's."""
        if not self.required:
            return
        for requirement in requirements:
            if registry.find(canonicalize_name(requirement.name)) is not None:
                continue
            if not any(s.operator in ("==", "===") and "*" not in s.version for s in requirement.specifier):
                raise PipError(f"In --require-hashes mode, all requirements must have their versions pinned with ==. This one does not: {requirement}")
            if canonicalize_name(requirement.name) not in self._of:
                raise PipError(f"Hashes are required in --require-hashes mode, but they are missing from this requirement: {requirement} "
                               "--hash=sha256:...")

    def check(self, candidate):
        """Raises unless the file of the candidate, fetched where it has to be, has one of its hashes."""
        if not self.required or candidate.entry is not None:
            return
        wanted = self._of.get(candidate.name)
        if not wanted:
            raise PipError(f"Hashes are required in --require-hashes mode, but they are missing from this requirement: "
                           f"{candidate.name}=={candidate.version} --hash=sha256:{_digest(candidate, 'sha256')}")
        if not any(_digest(candidate, kind) == digits for kind, digits in wanted):
            expected = " or ".join(sorted(f"{kind}:{digits}" for kind, digits in wanted))
            raise PipError(f"THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE: {candidate.name}=={candidate.version}: "
                           f"expected {expected}, got sha256:{_digest(candidate, 'sha256')}")


def _digest(candidate, kind):
    wheel = candidate.wheel
    if hasattr(wheel, "file"):
        path = wheel.file()  # a source archive
    else:
        wheel = wheel.local() if hasattr(wheel, "local") else wheel
        if not hasattr(wheel, "origin") or wheel.record:
            raise PipError(f"{candidate.name} is a project folder, which has no hash: it cannot be installed in --require-hashes mode")
        path = wheel.path
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def split(line):
    """(the requirement, its hashes) of a line of a requirements file."""
    text, *options = re.split(r"\s+(?=--)", line.strip())
    found = []
    for option in options:
        name, _, value = option.replace("=", " ", 1).partition(" ")
        if name == "--hash":
            found += shlex.split(value)
    return text.strip(), found


def check_named(hashes, digest, what):
    """What an index names: `digest(kind)` gives hex digits. The strongest hash that is named must be the one that it is."""
    kind = next((kind for kind in KINDS if hashes.get(kind)), None)
    if kind and digest(kind) != hashes[kind].lower():
        raise PipError(f"{what} is damaged or has been changed: its {kind} is {digest(kind)}, and {hashes[kind].lower()} was to be expected.")
