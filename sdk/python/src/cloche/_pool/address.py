# SPDX-License-Identifier: Apache-2.0
"""Where a cell is."""
from __future__ import annotations

from typing import NamedTuple


class Address(NamedTuple):
    """A cell from its start to its end: who starts anew has another one, also at the same port."""

    node_id: str
    url: str
    incarnation: str
