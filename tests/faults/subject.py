# SPDX-License-Identifier: Apache-2.0
"""A program whose calls to the host fail, whichever it is: what it is asked, and what must not come of it."""
import random
import signal

from faults import Faults

HANG_S = 60


class Trouble(Exception):
    """What must not be."""


class Aborted(Exception):
    """It has ended, as it does where it cannot go on without memory."""


class Subject:
    """A program whose calls fail, and what it is asked."""

    acts: list = []

    def __init__(self, faults: Faults, draw: random.Random):
        self.faults, self.draw = faults, draw

    def begin(self) -> None: ...
    def end(self) -> None: ...
    def again(self) -> None:
        """After it has ended by itself."""

    @staticmethod
    def ended(status: int) -> Exception:
        return Aborted() if status == -signal.SIGABRT else Trouble(f"it has ended: {status}")

    def act(self, name: str) -> None:
        """Does it; what is refused is fine, and noted where it matters."""
        getattr(self, name)()

    def check(self) -> None:
        """Without faults: it lives, and has what it has to have."""
