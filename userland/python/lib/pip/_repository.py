"""Projects in repositories of git: `git+https://host/name.git@reference#subdirectory=folder`, fetched by the sandbox's own git."""
import os
import re
import shutil
import subprocess
import tempfile
import urllib.parse

from ._errors import PipError

_SCHEMES = ("https", "http", "git", "file", "ssh")


def is_repository(text):
    return text.startswith(("git+", "hg+", "svn+", "bzr+"))


class Repository:
    """An address as pip has it."""

    def __init__(self, text):
        kind, _, address = text.partition("+")
        if kind != "git":
            raise PipError(f"{text} cannot be had: of version control there is git here")
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in _SCHEMES or not parts.path:
            raise PipError(f"{text} is no address of a repository: git+https://HOST/PATH, with @REFERENCE and #subdirectory=FOLDER perhaps")
        path, at, reference = parts.path.rpartition("@")
        self.reference = reference if at else ""
        if self.reference.startswith("-"):
            raise PipError(f"{text}: {self.reference} is no reference")
        self.url = urllib.parse.urlunsplit(parts._replace(path=path if at else parts.path, fragment=""))
        fields = urllib.parse.parse_qs(parts.fragment)
        self.subdirectory = fields.get("subdirectory", [""])[0]
        self.egg = fields.get("egg", [""])[0]

    @property
    def shown(self):
        """Without a password."""
        return re.sub(r"//[^/@]*@", "//", self.url)

    def wheel(self, builder):
        with tempfile.TemporaryDirectory(prefix="pip-git-") as place:
            folder = os.path.join(place, "repository")
            builder.say(f"  Cloning {self.shown}")
            self._git("clone", "-q", "--filter=blob:none", "--", self.url, folder)
            if self.reference:
                self._check_out(folder)
            self._git("submodule", "update", "--init", "--recursive", "-q", cwd=folder)
            commit = self._git("rev-parse", "HEAD", cwd=folder).strip()
            project = os.path.realpath(os.path.join(folder, self.subdirectory))
            if not (project + os.sep).startswith(os.path.realpath(folder) + os.sep) or not os.path.isdir(project):
                raise PipError(f"{self.shown} has no folder {self.subdirectory}")
            record = {"url": self.shown, "vcs_info": {"vcs": "git", "commit_id": commit}}
            if self.reference:
                record["vcs_info"]["requested_revision"] = self.reference
            if self.subdirectory:
                record["subdirectory"] = self.subdirectory
            return builder.wheel(project, self.egg or os.path.basename(self.url.rstrip("/")).removesuffix(".git"), self.shown, record)

    def _check_out(self, folder):
        """A branch, a tag, a commit, or any other reference that the server gives (refs/pull/1/head)."""
        try:
            self._git("checkout", "-q", self.reference, "--", cwd=folder)
        except PipError:
            self._git("fetch", "-q", "origin", self.reference, cwd=folder)
            self._git("checkout", "-q", "FETCH_HEAD", cwd=folder)

    def _git(self, *words, cwd=None):
        program = shutil.which("git")
        if program is None:
            raise PipError(f"{self.shown} cannot be had: there is no git in this sandbox")
        done = subprocess.run([program, *words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"}, check=False)
        if done.returncode:
            why = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ").replace(self.url, self.shown)
            raise PipError(f"{self.shown} cannot be had: git {words[0]}: {why}")
        return done.stdout.decode("utf-8", "replace")
