# SPDX-License-Identifier: Apache-2.0
"""The words of a command line, as the arguments of a function with type hints.

`def search(query: str, *, limit: int = 10, exact: bool = False)` is `search QUERY [--limit LIMIT]
[--exact]`: what has no default comes by position, what has one by its name.
"""
from __future__ import annotations

import argparse
import enum
import inspect
import json
import typing
from typing import Any, Callable, List, NoReturn, Tuple

from ._errors import SandboxArgumentError
from ._hints import UNIONS, hints_of, made, signature_of


class ArgumentError(Exception):
    """What is wrong with a command line, with the usage."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(f"{self.format_usage()}{self.prog}: {message}\n")

    def exit(self, status: int = 0, message: "str | None" = None) -> NoReturn:
        raise ArgumentError(message or self.format_help())


class Arguments:
    """How a function is called from a command line."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._parser = _Parser(prog=name, description=inspect.getdoc(function), allow_abbrev=False, add_help=False,
                               formatter_class=argparse.RawDescriptionHelpFormatter)
        self._hints = hints_of(function)
        self._parameters = list(signature_of(function).parameters.values())
        for parameter in self._parameters:
            self._add(name, parameter)
        self.help = self._parser.format_help()
        """As `--help` prints it."""

    def _add(self, name: str, parameter: inspect.Parameter) -> None:
        if parameter.kind is parameter.VAR_KEYWORD:
            raise SandboxArgumentError(f"the command {name} takes **{parameter.name}: give its options names")
        hint, words = _without_words(self._hints.get(parameter.name, Any))
        shown = words.replace("%", "%%")
        if parameter.kind is parameter.VAR_POSITIONAL:
            self._parser.add_argument(parameter.name, nargs="*", type=_reader(hint), help=shown)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            many: dict[str, Any] = {"nargs": "*"} if _is_list(hint) else {}
            self._parser.add_argument(parameter.name, type=_reader(_item(hint)), help=shown, **many)
        else:
            self._add_option(parameter, hint, shown)

    def _add_option(self, parameter: inspect.Parameter, hint: Any, shown: str) -> None:
        flag = "--" + parameter.name.replace("_", "-")
        common: dict[str, Any] = {"dest": parameter.name, "help": shown, "default": argparse.SUPPRESS}
        if hint is bool:
            action = "store_false" if parameter.default is True else "store_true"
            flag = flag.replace("--", "--no-", 1) if parameter.default is True else flag
            self._parser.add_argument(flag, action=action, **common)
        else:
            more: dict[str, Any] = {"action": "append"} if _is_list(hint) else {}
            self._parser.add_argument(flag, type=_reader(_item(hint)), metavar=parameter.name.upper(),
                                      required=parameter.default is parameter.empty, **common, **more)

    def parse(self, words: List[str]) -> Tuple[List[Any], dict[str, Any]]:
        """Arguments by position and by name. Raises ArgumentError."""
        given = vars(self._parser.parse_args(words))
        positional: List[Any] = []
        named: dict[str, Any] = {}
        for parameter in self._parameters:
            if parameter.name not in given:
                continue
            hint, _ = _without_words(self._hints.get(parameter.name, Any))
            value = given[parameter.name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional.extend(value)
            elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
                positional.append(made(hint, value))
            else:
                named[parameter.name] = made(hint, value)
        return positional, named


def _without_words(hint: Any) -> Tuple[Any, str]:
    """The type within Annotated and Optional, and what is said of it."""
    words = ""
    if typing.get_origin(hint) is typing.Annotated:
        hint, *extras = typing.get_args(hint)
        words = next((extra for extra in extras if isinstance(extra, str)), "")
    if typing.get_origin(hint) in UNIONS:
        kinds = [one for one in typing.get_args(hint) if one is not type(None)]
        hint = kinds[0] if len(kinds) == 1 else hint
    return hint, words


def _is_list(hint: Any) -> bool:
    return hint is list or typing.get_origin(hint) is list


def _item(hint: Any) -> Any:
    if not _is_list(hint):
        return hint
    kinds = typing.get_args(hint)
    return kinds[0] if kinds else Any


def _reader(hint: Any) -> Callable[[str], Any]:
    """A word as a value of that type. What is no word is JSON."""
    if hint in (Any, str):
        return str
    if hint in (int, float):
        return typing.cast("Callable[[str], Any]", hint)
    if typing.get_origin(hint) is typing.Literal:
        return _one_of(list(typing.get_args(hint)))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _one_of([member.value for member in hint])

    def from_json(word: str) -> Any:
        try:
            return json.loads(word)
        except ValueError:
            if isinstance(hint, type) and hint not in (bool, dict, list):
                return word  # a path, a date
            raise argparse.ArgumentTypeError(f"{word!r} is no JSON") from None

    return from_json


def _one_of(values: List[Any]) -> Callable[[str], Any]:
    def choose(word: str) -> Any:
        for value in values:
            if word == str(value):
                return value
        raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(map(str, values))}")

    return choose
