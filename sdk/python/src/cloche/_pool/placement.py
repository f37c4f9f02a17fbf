# SPDX-License-Identifier: Apache-2.0
"""Which cell a new sandbox is asked of."""
from __future__ import annotations

import random
from typing import List, Sequence

DRAWN = 3
"""That many are looked at. Figures are a second old, and others place by them too: where all took the
roomiest of all of them, they would take the same one."""


def order(rooms: Sequence[float], choice: random.Random) -> List[int]:
    """Which are asked, one after the other: the roomiest of some that are drawn, and then, where those refuse,
    the others. `rooms` are from 0, none, to 1."""
    drawn = choice.sample(range(len(rooms)), min(DRAWN, len(rooms)))
    rest = [at for at in range(len(rooms)) if at not in drawn]
    return [at for part in (drawn, rest) for at in sorted(part, key=lambda at: -rooms[at])]
