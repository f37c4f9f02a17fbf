# SPDX-License-Identifier: Apache-2.0
"""The words of an instruction as Docker reads them: in single quotes all is as it is, in double ones variables are put
in."""
from __future__ import annotations

import json
import re
from typing import Dict, List, Mapping, Optional, Tuple

from .instructions import DockerfileError

_VARIABLE = r"(?P<variable>\$(?:\w+|\{(?:[^{}]|\{[^{}]*\})*\}))"
_NAME_IN_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?:(:?)([-+])(.*))?\})", re.DOTALL)
_FLAG = re.compile(r"--([A-Za-z-]+)(?:=(\S*))?(?:\s+|$)")


class UnknownVariable(Exception):
    """Its value is the base's to say, which is not known yet."""


def list_of(value: str) -> Optional[List[str]]:
    """The words of a JSON list; none where it is no such list."""
    try:
        words = json.loads(value) if value.startswith("[") else None
    except ValueError:
        return None
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else None


def split_flags(value: str) -> Tuple[List[Tuple[str, str]], str]:
    """The flags that an instruction begins with, in their order, and the rest."""
    flags: List[Tuple[str, str]] = []
    while True:
        flag = _FLAG.match(value)
        if flag is None:
            return flags, value
        flags.append((flag[1], flag[2] or ""))
        value = value[flag.end():]


class Words:
    """Puts the values of variables into words. Of a name that `known` has not, `others` says whether it is empty."""

    def __init__(self, known: Mapping[str, str], escape: str, others_are_empty: bool = True) -> None:
        self._known, self._others_are_empty = known, others_are_empty
        kept = re.escape(escape)
        inside = rf'(?:[^"{kept}]|{kept}.)*'
        self._piece = re.compile(rf"""'(?P<raw>[^']*)'|"(?P<quoted>{inside})"|{kept}(?P<kept>.)|(?P<blank>\s+)|"""
                                 + _VARIABLE + "|(?P<other>.)", re.DOTALL)
        self._quoted_piece = re.compile(rf"""{kept}(?P<kept>["$]|{kept})|""" + _VARIABLE, re.DOTALL)

    def _value(self, variable: str) -> str:
        found = _NAME_IN_VARIABLE.fullmatch(variable)
        if found is None:
            raise DockerfileError(f"the variable {variable} of a Dockerfile is not followed")
        value = self._known.get(found[1] or found[2])
        if value is None and not self._others_are_empty:
            raise UnknownVariable
        is_there = bool(value) if found[3] else value is not None
        if found[4] == "+":
            return self.expand(found[5]) if is_there else ""
        return self.expand(found[5]) if found[4] and not is_there else value or ""

    def _text(self, piece: "re.Match[str]") -> str:
        kind = piece.lastgroup or ""
        if kind == "variable":
            return self._value(piece["variable"])
        if kind == "quoted":
            return self._quoted_piece.sub(self._text, piece["quoted"])
        if kind == "other" and piece["other"] in "'\"":
            raise DockerfileError(f"a {piece['other']} of the Dockerfile has no end: {piece.string}")
        return piece[kind]

    def expand(self, text: str) -> str:
        """All of it as one word."""
        return "".join(map(self._text, self._piece.finditer(text)))

    def expand_document(self, text: str) -> str:
        """A document, in which quotes are as they are."""
        return self._quoted_piece.sub(self._text, text)

    def split(self, text: str) -> List[str]:
        """Its words."""
        words: List[str] = []
        is_in_word = False
        for piece in self._piece.finditer(text):
            if piece["blank"] is not None:
                is_in_word = False
                continue
            if not is_in_word:
                words.append("")
            is_in_word = True
            words[-1] += self._text(piece)
        return words

    def each(self, value: str) -> List[str]:
        """Those of a JSON list, or those between blanks."""
        words = list_of(value)
        return [self.expand(word) for word in (value.split() if words is None else words)]

    def flags(self, value: str) -> Tuple[Dict[str, str], str]:
        """The flags, each of which stands once, and the rest."""
        flags, rest = split_flags(value)
        return {name: self.expand(said) for name, said in flags}, rest
