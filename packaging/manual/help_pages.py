# SPDX-License-Identifier: Apache-2.0
"""The help pages of the program, as values: what manual pages and shell completion are made from."""
from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field

OPTION = re.compile(r"^ {2,}(-\S.*?)(?: {2,}(\S.*))?$")
IN_SYNOPSIS = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)(?:[ =]([A-Z][\w.:]*))?")


@dataclass
class Option:
    name: str       # "--timeout"
    value: str      # "MS", "sessions|steps"; empty for a flag
    meaning: str    # one line

    def choices(self) -> list[str]:
        return self.value.split("|") if "|" in self.value and self.value.islower() else []

    def wants_folder(self) -> bool:
        return self.value in ("DIR", "FOLDER") or self.value.startswith("HOST:GUEST")

    def wants_file(self) -> bool:
        return self.value.startswith(("FILE", "SCRIPT"))


@dataclass
class Command:
    name: str       # "run"; empty for the program itself
    meaning: str
    page: str
    options: list[Option] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)  # "build", "show" of `cloche image`


def _first_sentence(page: str) -> str:
    text = " ".join(line.strip() for line in page.split("\n\n")[1].splitlines()) if "\n\n" in page else ""
    return re.split(r"(?<=[.:]) ", text)[0].rstrip(".:")


def _pairs(words: str) -> list[tuple[str, str]]:
    """"--tls-cert FILE --tls-key FILE" -> each option with its value's name."""
    found: list[tuple[str, str]] = []
    for word in words.replace(",", " ").replace("=", " ").split():
        if word.startswith("-"):
            found.append((word, ""))
        elif found and not found[-1][1]:
            found[-1] = (found[-1][0], word.strip("[]"))
    return found


def options_of(page: str) -> list[Option]:
    found: dict[str, Option] = {}
    lines = page.splitlines()
    for number, line in enumerate(lines):
        if not (match := OPTION.match(line)):
            continue
        meaning = match[2] or ""
        column = line.index(meaning, match.end(1)) if meaning else 28
        for more in lines[number + 1:]:
            if not more.startswith(" " * min(column, 20)):
                break
            meaning = f"{meaning} {more.strip()}".strip()
        pairs = _pairs(match[1])
        # "-h, --help" and the like share one value.
        for name, value in pairs:
            shared = value or (pairs[-1][1] if "," in match[1] else "")
            found.setdefault(name, Option(name, shared, meaning))
    for line in page.split("\n\n")[0].splitlines():
        for name, value in IN_SYNOPSIS.findall(line):
            found.setdefault(name, Option(name, value, ""))
    found.setdefault("--help", Option("--help", "", "show the command's page"))
    return list(found.values())


def _with_borrowed(command: Command, commands: dict[str, Command]) -> None:
    """"The options are those of cloche run (see ...) but --stdin and --out": those too."""
    text = " ".join(command.page.split())
    match = re.search(r"options are those of cloche (\w+) ?(?:\([^)]*\))?(?: but ((?:--[\w-]+(?:,? and |, )?)+))?", text)
    if not match or match[1] not in commands:
        return
    left_out = set(re.findall(r"--[\w-]+", match[2] or ""))
    own = {option.name for option in command.options}
    command.options += [option for option in commands[match[1]].options
                        if option.name not in own | left_out]


def read(program: list[str]) -> list[Command]:
    """All pages of the program, the general one first."""
    def ask(*words: str) -> str | None:
        done = subprocess.run([*program, *words], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        return done.stdout if done.returncode == 0 else None

    general = ask("--help")
    if not general:
        raise SystemExit(f"{' '.join(program)} --help does not work")
    commands: dict[str, Command] = {"": Command("", general.splitlines()[0].partition(" - ")[2], general,
                                                [Option("--help", "", "show the general page"),
                                                 Option("--version", "", "show the version")])}
    for match in re.finditer(r"^  cloche ([a-z]+)(.*)$", general.split("\n\n")[1], re.M):
        name = match[1]
        line = re.split(r" {2,}", match[2].rstrip())
        meaning = line[-1] if len(line) > 1 else ""
        if name in commands:
            continue
        page = ask(name, "--help") if name != "help" else None
        if page is None or page == general:  # the general page has all there is to say
            said = f"cloche {name}{line[0].rstrip()}"
            follow = general[match.end():].split("\n")[1:]
            for more in follow:
                if not more.startswith(" " * 20):
                    break
                meaning = f"{meaning} {more.strip()}"
            page = f"{said}\n\n{meaning[:1].upper()}{meaning[1:]}.\n"
        command = Command(name, re.split(r"; see ", meaning)[0] or _first_sentence(page), page, options_of(page))
        synopsis = page.split("\n\n")[0].splitlines()
        command.actions = sorted({m[1] for text in synopsis
                                  if (m := re.match(rf"cloche {name} ([a-z]+)\b", text))})
        commands[name] = command
    for command in commands.values():
        _with_borrowed(command, commands)
    return list(commands.values())
