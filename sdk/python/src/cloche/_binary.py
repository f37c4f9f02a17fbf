# SPDX-License-Identifier: Apache-2.0
"""Where the server's program is."""
from __future__ import annotations

import os
from pathlib import Path

from ._errors import ServerError

_VARIABLES = ("CLOCHE_BINARY", "WASMSAND_BINARY")


def find_binary() -> str:
    """The path of `cloche`: $CLOCHE_BINARY, the one in this package, or the one of the source tree
    that this package lies in.

    Raises:
        ServerError: there is none; the message says what to do.
    """
    for name in _VARIABLES:
        given = os.environ.get(name)
        if given:
            if not os.access(given, os.X_OK) or os.path.isdir(given):
                raise ServerError(f"{name} is {given}, and that is no program that can be run")
            return given
    here = Path(__file__).resolve().parent
    candidates = [here / "_runtime" / "bin" / "cloche"]
    # sdk/python/src/cloche of a source tree.
    if len(here.parents) > 3:
        root = here.parents[3]
        candidates += [root / "build" / "bin" / "cloche", root / "build" / "release" / "bin" / "cloche"]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(candidate)
    raise ServerError("the program `cloche` is not found: install the wheel, run `make` in the source "
                      "tree, or set CLOCHE_BINARY to its path")
