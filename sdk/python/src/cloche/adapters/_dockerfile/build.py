# SPDX-License-Identifier: Apache-2.0
"""What a Dockerfile does to a base, step by step."""
from __future__ import annotations

import posixpath
import re
import shlex
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Tuple, Union

from .context import BuildContext, Text
from .instructions import DockerfileError, Instruction, read_instructions, the_document
from .words import UnknownVariable, Words, list_of, split_flags

# Whose tools a sandbox has by itself.
BASES = ("bash", "buildpack-deps", "debian", "python", "ubuntu")

# What is for who runs the image, or builds on it.
_IGNORED = {"CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "ONBUILD", "STOPSIGNAL"}
_USERS = {"root": "root", "0": "root", "sandbox": "user", "1000": "user"}
_OWNERS = {"root": "root", "user": "sandbox"}
_SHELL = ("/bin/sh", "-c")
_PROGRAM = "/tmp/.run-of-dockerfile"


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

    sources: Tuple[Union[Path, Text], ...]
    target: str
    mode: Optional[str] = None
    owner: str = "root"


@dataclass(frozen=True)
class Unpack:
    """An archive of the context, and the folder where its files are put."""

    source: Path
    target: str


@dataclass
class Build:
    """What to do to a fresh sandbox, and what holds afterwards."""

    steps: List[Union[Run, Copy, Unpack]] = field(default_factory=list)
    env: Dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    account: str = "root"


@dataclass
class _Stage:
    base: str
    instructions: List[Instruction]


class Dockerfile:
    """A Dockerfile as it is when this is made. `base` is the image that its last stage begins with."""

    def __init__(self, path: Path) -> None:
        self.context = BuildContext(path)
        instructions, self._escape = read_instructions(path.read_text())
        self._before: Dict[str, str] = {}  # arguments of before FROM, which hold there
        stages: Dict[str, _Stage] = {}
        last: Optional[_Stage] = None
        for instruction in instructions:
            if not instruction.value:
                raise DockerfileError(f"{instruction.name} of the Dockerfile says nothing")
            if instruction.name == "FROM":
                name, last = self._stage_of(instruction, stages)
                stages[name] = last
            elif last is not None:
                last.instructions.append(instruction)
            elif instruction.name == "ARG":
                self._take_early_argument(instruction.value)
            else:
                raise DockerfileError(f"{instruction.name} stands before FROM")
        if last is None:
            raise DockerfileError("the Dockerfile has no FROM")
        self.base, self._instructions = last.base, last.instructions

    def _take_early_argument(self, value: str) -> None:
        for word in Words(self._before, self._escape).split(value):
            name, given, default = word.partition("=")
            if given:
                self._before[name] = default

    def _stage_of(self, instruction: Instruction, stages: Mapping[str, _Stage]) -> Tuple[str, _Stage]:
        """Its name, or a number where it has none, and what it begins with: a stage has all of the one that it names."""
        words = split_flags(instruction.value)[1].split()
        if len(words) not in (1, 3) or (len(words) == 3 and words[1].lower() != "as"):
            raise DockerfileError(f"FROM {instruction.value}: a Dockerfile says FROM IMAGE or FROM IMAGE AS NAME")
        base = Words(self._before, self._escape).expand(words[0])
        if not base:
            raise DockerfileError(f"FROM {instruction.value} names no image")
        name = words[2].lower() if len(words) == 3 else str(len(stages))
        before = stages.get(base.lower())
        return name, _Stage(before.base, list(before.instructions)) if before else _Stage(base, [])

    def check(self) -> None:
        """`DockerfileError`, a sentence, for what is not followed, as far as that can be told without the base."""
        self._follow({}, is_base_known=False)

    def build(self, inherited: Mapping[str, str]) -> Build:
        """What it says on a base that has these variables."""
        return self._follow(inherited, is_base_known=True)

    def _follow(self, inherited: Mapping[str, str], is_base_known: bool) -> Build:
        follower = _Follower(self.context, self._before, self._escape, inherited, is_base_known)
        for instruction in self._instructions:
            follower.take(instruction)
        return follower.build


class _Follower:
    """Follows the instructions one by one."""

    def __init__(self, context: BuildContext, before: Mapping[str, str], escape: str, inherited: Mapping[str, str],
                 is_base_known: bool) -> None:
        self._context, self._before, self._escape = context, before, escape
        self._inherited, self._is_base_known = inherited, is_base_known
        self._arguments: Dict[str, str] = {}
        self._shell: Tuple[str, ...] = _SHELL
        self.build = Build()

    def take(self, instruction: Instruction) -> None:
        if instruction.name in _IGNORED:
            return
        handler: Optional[Callable[[Instruction], None]] = getattr(self, f"_take_{instruction.name.lower()}", None)
        if handler is None:
            raise DockerfileError(f"a cloche sandbox does not know {instruction.name} of a Dockerfile")
        try:
            handler(instruction)
        except UnknownVariable:
            pass  # it is checked when it is followed

    def _words(self) -> Words:
        return Words({**self._arguments, **self._inherited, **self.build.env}, self._escape, self._is_base_known)

    def _take_arg(self, instruction: Instruction) -> None:
        for word in self._words().split(instruction.value):
            name, given, default = word.partition("=")
            if given:
                self._arguments[name] = default
            elif name in self._before:
                self._arguments[name] = self._before[name]

    def _take_env(self, instruction: Instruction) -> None:
        name, *rest = instruction.value.split(None, 1)
        if "=" not in name:
            self.build.env[name] = self._words().expand("".join(rest))
            return
        said = [word.partition("=") for word in self._words().split(instruction.value)]
        self.build.env.update({name: value for name, _, value in said})

    def _take_workdir(self, instruction: Instruction) -> None:
        folder = self._words().expand(instruction.value)
        self.build.workdir = posixpath.normpath(posixpath.join(self.build.workdir, folder))
        self._as_root(f"mkdir -p {shlex.quote(self.build.workdir)}")

    def _take_volume(self, instruction: Instruction) -> None:
        self._as_root("mkdir -p " + shlex.join(self._words().each(instruction.value)))

    def _take_user(self, instruction: Instruction) -> None:
        self.build.account = self._account_of(self._words().expand(instruction.value))

    def _account_of(self, user: str) -> str:
        user = user.partition(":")[0]
        if user not in _USERS:
            raise DockerfileError(f"a cloche sandbox has the users root and sandbox, and no {user!r}")
        return _USERS[user]

    def _take_shell(self, instruction: Instruction) -> None:
        words = list_of(instruction.value)
        if not words:
            raise DockerfileError("SHELL of a Dockerfile wants a list such as [\"/bin/bash\", \"-c\"]")
        self._shell = tuple(words)

    def _take_run(self, instruction: Instruction) -> None:
        flags, script = split_flags(instruction.value)
        for flag, said in flags:
            if flag == "mount":
                self._mount(self._words().expand(said))
            elif (flag, said) != ("network", "default"):
                raise DockerfileError(f"RUN with --{flag}={said} is not followed")
        self._run(self._script_of(instruction, script))

    def _mount(self, said: str) -> None:
        """A cache is a folder, and stays."""
        options: Dict[str, str] = {}
        for option in said.split(","):
            name, _, value = option.partition("=")
            options[name] = value
        kind = options.get("type", "bind")
        target = next((options[name] for name in ("target", "dst", "destination") if options.get(name)), "")
        if kind != "cache" or not target or "from" in options:
            raise DockerfileError(f"RUN with --mount={said} is not followed: of mounts a sandbox has type=cache alone")
        folder = shlex.quote(posixpath.join(self.build.workdir, target))
        owner = _OWNERS[self._account_of(options.get("uid", "0"))]
        mode = shlex.quote(options.get("mode", "755"))
        self._as_root(f"[ -d {folder} ] || {{ mkdir -p {folder} && chmod {mode} {folder} && chown {owner}: {folder}; }}")

    def _script_of(self, instruction: Instruction, script: str) -> str:
        document = the_document(instruction, script)
        if document is not None and document.raw.startswith("#!"):
            return (f"printf %s {shlex.quote(document.text)} >{_PROGRAM} && chmod 755 {_PROGRAM} && {_PROGRAM}; "
                    f"s=$?; rm -f {_PROGRAM}; exit $s")
        words = list_of(script)
        if words is not None:
            return shlex.join(words)
        if document is not None:
            script = document.text
        else:
            script += "".join(f"\n{each.raw}{each.name}" for each in instruction.documents)
        return script if self._shell == _SHELL else shlex.join([*self._shell, script])

    def _run(self, script: str) -> None:
        arguments = {name: value for name, value in self._arguments.items() if name not in self._inherited}
        self.build.steps.append(Run(script, {**arguments, **self.build.env}, self.build.workdir, self.build.account))

    def _as_root(self, script: str) -> None:
        self.build.steps.append(Run(script, {}, "/", "root"))

    def _take_add(self, instruction: Instruction) -> None:
        flags, value = self._words().flags(instruction.value)
        if set(flags) - {"chown", "chmod", "link"}:
            raise DockerfileError(f"ADD with --{next(iter(flags))} is not followed")
        for source in self._words().each(value)[:-1]:
            if "://" in source or source.startswith("git@"):
                raise DockerfileError(f"ADD {source} is not followed: RUN with curl does the same")
        self._take_copy(instruction, unpacks=True)

    def _take_copy(self, instruction: Instruction, unpacks: bool = False) -> None:
        flags, value = self._words().flags(instruction.value)
        owner = _OWNERS[self._account_of(flags.pop("chown", "root"))]
        mode = flags.pop("chmod", None)
        flags.pop("link", None)
        if "from" in flags:
            raise DockerfileError(f"COPY --from={flags['from']} is not followed: publish that stage as an image, or make "
                                  "its files by RUN")
        if flags:
            raise DockerfileError(f"COPY with --{next(iter(flags))} is not followed")
        *sources, target = self._words().each(value)
        found = [file for source in sources for file in self._find(instruction, source)]
        if not found:
            raise DockerfileError(f"COPY {value} names no files, or no target")
        is_folder = target.endswith(("/", "/.")) or target == "." or len(found) > 1
        target = posixpath.normpath(posixpath.join(self.build.workdir, target))
        archives = [file for file in found if unpacks and isinstance(file, Path) and _is_archive(file)]
        if archives and owner != "root":
            raise DockerfileError(f"ADD --chown of the archive {archives[0].name} is not followed: what it holds says whose it is")
        self.build.steps += [Unpack(archive, target) for archive in archives]
        others = tuple(file for file in found if file not in archives)
        if others:
            self.build.steps.append(Copy(others, target.rstrip("/") + "/" if is_folder else target, mode, owner))

    def _find(self, instruction: Instruction, source: str) -> List[Union[Path, Text]]:
        for document in instruction.documents:
            words = self._words()
            if words.expand(document.word) == source:
                text = words.expand_document(document.text) if document.expands else document.text
                return [Text(document.name, text)]
        return list(self._context.find(source))


def _is_archive(path: Path) -> bool:
    try:
        return path.is_file() and tarfile.is_tarfile(path)
    except (OSError, EOFError):
        return False


def base_is_like_a_sandbox(base: str) -> bool:
    """Whether a sandbox without images has about the tools of that image."""
    name = re.split("[:@]", base.rpartition("/")[2])[0]
    return name in BASES
