# SPDX-License-Identifier: Apache-2.0
"""Manual pages, from the help pages: the same words in the form of man(7)."""
from __future__ import annotations

import re

from help_pages import OPTION, Command


def _text(line: str) -> str:
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line.startswith((".", "'")) else line


def _example(block: list[str]) -> list[str]:
    return [".PP", ".RS 2", ".nf", *(_text(line[2:]) for line in block), ".fi", ".RE"]


def _options(block: list[str]) -> list[str]:
    out, at = [], 0
    while at < len(block):
        match = OPTION.match(block[at])
        if match:
            out += [".TP", f".B {_text(match[1])}"]
            if match[2]:
                out.append(_text(match[2]))
        else:
            out.append(_text(block[at].strip()))
        at += 1
    return out


def man_page(command: Command, version: str, others: list[str]) -> str:
    name = f"cloche-{command.name}" if command.name else "cloche"
    blocks = [block.splitlines() for block in command.page.strip("\n").split("\n\n")]
    synopsis = blocks.pop(0) if command.name else ["cloche COMMAND [OPTIONS] [ARGUMENTS]"]
    if not command.name:
        blocks.pop(0)
    out = [f'.TH {name.upper()} 1 "" "cloche {version}"', ".SH NAME", f"{name} \\- {_text(command.meaning)}",
           ".SH SYNOPSIS", ".nf", *(f".B {_text(line)}" for line in synopsis), ".fi", ".SH DESCRIPTION"]
    for block in blocks:
        if OPTION.match(block[0]):
            out += _options(block)
        elif all(line.startswith("  ") for line in block):
            out += _example(block)
        elif heading := re.match(r"^(Exit status): (.*)$", block[0]):
            out += [".SH EXIT STATUS", _text(heading[2]), *map(_text, block[1:])]
        else:
            out += [".PP", *map(_text, block)]
    out += [".SH SEE ALSO", ", ".join(f"\\fB{other}\\fR(1)" for other in others if other != name)]
    return "\n".join(out) + "\n"
