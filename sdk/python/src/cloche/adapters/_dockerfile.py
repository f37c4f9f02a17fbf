# SPDX-License-Identifier: Apache-2.0
"""Dockerfiles as far as a sandbox can follow them: one stage, in which files are copied and commands run."""
from __future__ import annotations

import json
import posixpath
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Dict, List, Mapping, Optional, Tuple, Union

# Whose tools a sandbox has by itself.
BASES = ("bash", "buildpack-deps", "debian", "python", "ubuntu")

_IGNORED = {"CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "STOPSIGNAL", "COMMENT"}
_USERS = {"root": "root", "0": "root", "sandbox": "user"}
_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|tgz|tbz2|txz)$")
# As Docker reads the words of an instruction: in single quotes all is as it is, in double ones variables are put in.
_VARIABLE = r"(?P<variable>\$(?:\w+|\{(?:[^{}]|\{[^{}]*\})*\}))"
_PIECE = re.compile(r"""'(?P<raw>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|\\(?P<kept>.)|(?P<blank>\s+)|"""
                    + _VARIABLE + "|(?P<other>.)", re.DOTALL)
_QUOTED_PIECE = re.compile(r"""\\(?P<kept>["$\\])|""" + _VARIABLE, re.DOTALL)
_NAME_IN_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?:(:?)([-+])(.*))?\})", re.DOTALL)


class DockerfileError(ValueError):
    """What the Dockerfile wants cannot be had."""


@dataclass(frozen=True)
class Run:
    """A command, with the environment, working directory and account that hold there."""

    script: str
    env: Dict[str, str]
    workdir: str
    account: str


@dataclass(frozen=True)
class Copy:
    """Files of the context, in the order in which they are copied; `target` is a folder where it ends in /."""

    sources: Tuple[Path, ...]
    target: str
    mode: Optional[str] = None


@dataclass
class Build:
    """What to do to a fresh sandbox, and what holds afterwards."""

    base: str = ""
    steps: List[Union[Run, Copy]] = field(default_factory=list)
    env: Dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    account: str = "root"


def _split_flags(value: str) -> Tuple[Dict[str, str], str]:
    flags: Dict[str, str] = {}
    while value.startswith("--"):
        word, _, value = value.partition(" ")
        name, _, said = word[2:].partition("=")
        flags[name], value = said, value.lstrip()
    return flags, value


def _list_of(value: str) -> Optional[List[str]]:
    """The words of a JSON list; none where it is no such list."""
    try:
        words = json.loads(value) if value.startswith("[") else None
    except ValueError:
        return None
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else None


class _Variables:
    """Puts the values of variables into words."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known

    def _value(self, variable: str) -> str:
        found = _NAME_IN_VARIABLE.fullmatch(variable)
        if found is None:
            raise DockerfileError(f"the variable {variable} of a Dockerfile is not followed")
        value = self._known.get(found[1] or found[2])
        is_there = bool(value) if found[3] else value is not None
        if found[4] == "+":
            return self.expand(found[5]) if is_there else ""
        return self.expand(found[5]) if found[4] and not is_there else value or ""

    def _text(self, piece: "re.Match[str]") -> str:
        kind = piece.lastgroup or ""
        if kind == "variable":
            return self._value(piece["variable"])
        if kind == "quoted":
            return _QUOTED_PIECE.sub(self._text, piece["quoted"])
        if kind == "other" and piece["other"] in "'\"":
            raise DockerfileError(f"a {piece['other']} of the Dockerfile has no end: {piece.string}")
        return piece[kind]

    def expand(self, text: str) -> str:
        """All of it as one word."""
        return "".join(map(self._text, _PIECE.finditer(text)))

    def split(self, text: str) -> List[str]:
        """Its words."""
        words: List[str] = []
        is_in_word = False
        for piece in _PIECE.finditer(text):
            if piece["blank"] is not None:
                is_in_word = False
                continue
            if not is_in_word:
                words.append("")
            is_in_word = True
            words[-1] += self._text(piece)
        return words


class _Reader:
    """Follows the instructions one by one."""

    def __init__(self, context: Path, inherited: Mapping[str, str]) -> None:
        self._context = context.resolve()
        self._inherited = inherited
        self._before: Dict[str, str] = {}  # arguments of before FROM, which holds there
        self._arguments: Dict[str, str] = {}
        self.build = Build()

    def take(self, name: str, value: str) -> None:
        if name in _IGNORED:
            return
        handler = getattr(self, f"_take_{name.lower()}", None)
        if handler is None:
            raise DockerfileError(f"a cloche sandbox does not know {name} of a Dockerfile")
        if name not in ("FROM", "ARG") and not self.build.base:
            raise DockerfileError(f"{name} stands before FROM")
        handler(value)

    def _variables(self) -> _Variables:
        if not self.build.base:
            return _Variables(self._before)
        return _Variables({**self._inherited, **self._arguments, **self.build.env})

    def _expand(self, text: str) -> str:
        return self._variables().expand(text)

    def _words_of(self, value: str) -> List[str]:
        words = _list_of(value)
        return [self._expand(word) for word in (value.split() if words is None else words)]

    def _take_from(self, value: str) -> None:
        if self.build.base:
            raise DockerfileError("a Dockerfile of several stages is not followed: publish its last stage as an image")
        flags, value = _split_flags(value)
        self.build.base = self._expand(value.split()[0])

    def _take_arg(self, value: str) -> None:
        known = self._arguments if self.build.base else self._before
        for word in self._variables().split(value):
            name, given, default = word.partition("=")
            if given:
                known[name] = default
            elif name in self._before:
                known[name] = self._before[name]

    def _take_env(self, value: str) -> None:
        name, _, rest = value.partition(" ")
        if "=" not in name:
            self.build.env[name] = self._expand(rest.strip())
            return
        for word in self._variables().split(value):
            name, _, said = word.partition("=")
            self.build.env[name] = said

    def _take_workdir(self, value: str) -> None:
        self.build.workdir = posixpath.normpath(posixpath.join(self.build.workdir, self._expand(value.strip())))
        self._run(f"mkdir -p {shlex.quote(self.build.workdir)}", workdir="/")

    def _take_volume(self, value: str) -> None:
        self._run("mkdir -p " + shlex.join(self._words_of(value)), workdir="/")

    def _take_user(self, value: str) -> None:
        user = self._expand(value.strip()).partition(":")[0]
        if user not in _USERS:
            raise DockerfileError(f"a cloche sandbox has the users root and sandbox, and no {user!r}")
        self.build.account = _USERS[user]

    def _take_run(self, value: str) -> None:
        flags, script = _split_flags(value)
        if flags or "<<" in script.partition("\n")[0]:
            raise DockerfileError(f"RUN with {'--' + next(iter(flags)) if flags else 'a document'} is not followed")
        words = _list_of(script)
        self._run(script if words is None else shlex.join(words))

    def _run(self, script: str, workdir: Optional[str] = None) -> None:
        self.build.steps.append(Run(script, {**self._arguments, **self.build.env}, workdir or self.build.workdir,
                                    "root" if workdir else self.build.account))

    def _take_add(self, value: str) -> None:
        for source in self._words_of(_split_flags(value)[1])[:-1]:
            if "://" in source or _ARCHIVE.search(source):
                raise DockerfileError(f"ADD {source} is not followed: RUN with curl or tar does the same")
        self._take_copy(value)

    def _take_copy(self, value: str) -> None:
        flags, value = _split_flags(value)
        owner = flags.pop("chown", "root").partition(":")[0]
        mode = flags.pop("chmod", None)
        if flags or owner not in ("root", "0"):
            what = "--" + next(iter(flags)) if flags else f"--chown={owner}"
            raise DockerfileError(f"COPY with {what} is not followed")
        *sources, target = self._words_of(value)
        found = [path for source in sources for path in self._find(source)]
        is_folder = target.endswith(("/", "/.")) or target == "." or len(found) > 1
        target = str(PurePosixPath(self.build.workdir, target))
        self.build.steps.append(Copy(tuple(found), target.rstrip("/") + "/" if is_folder else target, mode))

    def _find(self, source: str) -> List[Path]:
        relative = source.lstrip("/")
        paths = sorted(self._context.glob(relative)) if set("*?[") & set(relative) else [self._context / relative]
        for path in paths:
            if not path.resolve().is_relative_to(self._context):
                raise DockerfileError(f"COPY {source} leaves the folder of the Dockerfile")
        if not paths or not all(path.exists() for path in paths):
            raise DockerfileError(f"COPY {source}: there is no such file beside the Dockerfile")
        return paths


def read_dockerfile(path: Path, inherited: Optional[Mapping[str, str]] = None) -> Build:
    """What the Dockerfile says, on a base that has the variables `inherited`; `DockerfileError`, a sentence, for what
    is not followed."""
    from dockerfile_parse import DockerfileParser

    reader = _Reader(path.parent, inherited or {})
    parser = DockerfileParser(path=str(path))
    for instruction in parser.structure:
        reader.take(str(instruction["instruction"]).upper(), str(instruction["value"]))
    if not reader.build.base:
        raise DockerfileError("the Dockerfile has no FROM")
    return reader.build


def base_is_like_a_sandbox(base: str) -> bool:
    """Whether a sandbox without images has about the tools of that image."""
    name = re.split("[:@]", base.rpartition("/")[2])[0]
    return name in BASES
