# SPDX-License-Identifier: Apache-2.0
"""The console scripts of the package: each becomes the program."""
from __future__ import annotations

import os
import sys

from ._binary import find_binary
from ._errors import ServerError


def _become(name: str) -> None:
    try:
        binary = find_binary()
    except ServerError as error:
        print(f"{name}: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    # The program tells by its name what it is asked for.
    os.execv(binary, [name, *sys.argv[1:]])


def cloche() -> None:
    """`cloche`."""
    _become("cloche")


def sbs() -> None:
    """`sbs`."""
    _become("sbs")


def session_based_sandbox() -> None:
    """`session-based-sandbox`."""
    _become("session-based-sandbox")
