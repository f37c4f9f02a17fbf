# SPDX-License-Identifier: Apache-2.0
"""The instructions of a Dockerfile: its lines with comments, continuations, directives and documents (`<<EOF`)."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterator, List, Optional, Tuple

_DIRECTIVE = re.compile(r"#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*")
# A word as a shell has it, with its quotes.
_WORD = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"\\])+""", re.DOTALL)
_BEGIN_OF_DOCUMENT = re.compile(r"""\d*<<(-?)(['"]?)([^<'"\s]+)\2""")
_WITH_DOCUMENTS = ("ADD", "COPY", "RUN")


class DockerfileError(ValueError):
    """What the Dockerfile wants cannot be had."""


@dataclass(frozen=True)
class Document:
    """Lines that follow an instruction: `word` in it stands for them."""

    word: str
    name: str
    raw: str  # as it stands there
    expands: bool
    strips_tabs: bool

    @property
    def text(self) -> str:
        """As who reads it gets it."""
        return re.sub(r"^\t+", "", self.raw, flags=re.MULTILINE) if self.strips_tabs else self.raw


@dataclass(frozen=True)
class Instruction:
    """Its name in capitals, and the rest of its line."""

    name: str
    value: str
    documents: Tuple[Document, ...] = ()


def _lines_of(text: str) -> List[str]:
    return [line.rstrip("\r") for line in text.lstrip("\ufeff").split("\n")]


def _escape_of(lines: List[str]) -> str:
    """The escape character, which a directive of the first lines may name."""
    for line in lines:
        directive = _DIRECTIVE.fullmatch(line.strip())
        if directive is None:
            break
        if directive[1].lower() == "escape":
            if directive[2] not in ("\\", "`"):
                raise DockerfileError(f"the escape character of a Dockerfile is \\ or `, and not {directive[2]}")
            return directive[2]
    return "\\"


def _is_comment_or_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


class _Reader:
    def __init__(self, text: str) -> None:
        self._left = _lines_of(text)
        self.escape = _escape_of(self._left)
        self._left.reverse()
        self._goes_on = re.compile(rf"(?:^|(?<=[^{re.escape(self.escape)}])){re.escape(self.escape)}[ \t]*$")

    def instructions(self) -> Iterator[Instruction]:
        while self._left:
            line = self._left.pop()
            if _is_comment_or_blank(line):
                continue
            name, _, value = re.split(r"(\s+)", self._whole(line).strip() + " ", maxsplit=1)
            yield Instruction(name.upper(), value.strip(), tuple(self._documents(name.upper(), value)))

    def _whole(self, line: str) -> str:
        """The line with those that continue it; among them comments and blank lines are none."""
        whole = ""
        while self._goes_on.search(line):
            whole += self._goes_on.sub("", line)
            line = ""
            while self._left and _is_comment_or_blank(self._left[-1]):
                self._left.pop()
            if self._left:
                line = self._left.pop()
        return whole + line

    def _documents(self, name: str, value: str) -> Iterator[Document]:
        words = _WORD.findall(value)
        if name not in _WITH_DOCUMENTS and not (name == "ONBUILD" and words and words[0].upper() in _WITH_DOCUMENTS):
            return
        for word in words:
            begin = _BEGIN_OF_DOCUMENT.fullmatch(word)
            if begin is not None:
                yield Document(word, begin[3], self._until(begin[3], bool(begin[1])), not begin[2], bool(begin[1]))

    def _until(self, end: str, strips_tabs: bool) -> str:
        text = ""
        while self._left:
            line = self._left.pop()
            if (line.lstrip("\t") if strips_tabs else line) == end:
                return text
            text += line + "\n"
        raise DockerfileError(f"the document {end} of the Dockerfile has no end")


def read_instructions(text: str) -> Tuple[List[Instruction], str]:
    """All of them, and the escape character of their words."""
    reader = _Reader(text)
    return list(reader.instructions()), reader.escape


def the_document(instruction: Instruction, value: str) -> Optional[Document]:
    """The document that is all that an instruction has, where it is."""
    documents = instruction.documents
    return documents[0] if len(documents) == 1 and documents[0].word == value.strip() else None
