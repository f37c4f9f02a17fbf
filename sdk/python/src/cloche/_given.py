# SPDX-License-Identifier: Apache-2.0
"""What callers give, looked at where it comes in: anything else is a SandboxArgumentError that names it."""
from __future__ import annotations

import os
from typing import Any, Iterable, List, Mapping, Optional, Union

from ._errors import SandboxArgumentError

StrPath = Union[str, "os.PathLike[str]"]


def local_path(path: StrPath, what: str = "a path of this machine") -> str:
    """A path of this machine, from its root on."""
    text: Any = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise SandboxArgumentError(f"{what} is text or a pathlib path, and not {type(text).__name__}")
    if not text:
        raise SandboxArgumentError(f"{what} is empty")
    if "\0" in text:
        raise SandboxArgumentError(f"{what} holds a NUL character, which ends a path there")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise SandboxArgumentError(f"{what} holds lone surrogates, which no path here has") from None
    return os.path.abspath(text)


def bytes_of(data: Any) -> memoryview:
    """Text as UTF-8, or what holds bytes."""
    try:
        view = memoryview(data.encode("utf-8") if isinstance(data, str) else data)
    except UnicodeEncodeError:
        raise SandboxArgumentError("data is text with lone surrogates, which UTF-8 has not: give bytes") from None
    except TypeError:
        raise SandboxArgumentError(f"data is text or bytes, and not {type(data).__name__}") from None
    return view.cast("B") if view.c_contiguous and view.nbytes else memoryview(view.tobytes())


def names_of(names: Iterable[str], what: str) -> List[str]:
    """A list of words, which one word is not."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise SandboxArgumentError(f"{what} is a list of names, and not {type(names).__name__}")
    return list(names)


def mapping_of(values: Any, what: str) -> Mapping[Any, Any]:
    """What has names and values."""
    if not isinstance(values, Mapping):
        raise SandboxArgumentError(f"{what} is a mapping, and not {type(values).__name__}")
    return values


def variables(env: Mapping[str, str]) -> dict[str, str]:
    """Variables of an environment."""
    for name, value in mapping_of(env, "env").items():
        if not isinstance(name, str):
            raise SandboxArgumentError(f"the name of a variable is {type(name).__name__}, and must be a string")
        if not isinstance(value, str):
            raise SandboxArgumentError(f"the variable {name} is {type(value).__name__}, and must be a string")
    return dict(env)


def check_functions(**functions: Any) -> None:
    """Functions that are called with what comes, where there are any."""
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise SandboxArgumentError(f"{name} is a function, and not {type(function).__name__}")


def check_number(what: str, number: Any) -> None:
    """An amount that is reckoned with here."""
    if not isinstance(number, int) or number < 0:
        raise SandboxArgumentError(f"{what} is a number, 0 at least, and not {number!r}")


def map_workers(function: Any, base: Any, kind: type, options: Mapping[str, Any], workers: Optional[int]) -> int:
    """How many calls of a map go on at a time, where all that it is given is right."""
    if base is not None and options:
        raise SandboxArgumentError(f"{', '.join(options)}: a fork is as its base is; give base, or options")
    if base is not None and not isinstance(base, kind):
        raise SandboxArgumentError(f"base is a sandbox, and not {type(base).__name__}")
    check_functions(function=function)
    if workers is None:
        return min(32, (os.cpu_count() or 1) + 4)
    if not isinstance(workers, int) or workers < 1:
        raise SandboxArgumentError(f"workers is a number, 1 at least, and not {workers!r}")
    return workers
