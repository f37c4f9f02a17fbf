# SPDX-License-Identifier: Apache-2.0
"""What a test asks of faults.cc: which call of a program is to fail, once, and what it has called."""
import errno
import mmap
import os
import struct
import tempfile

LIBRARY = os.environ["CLOCHE_FAULTS_LIBRARY"]
# In the order of faults.cc, with the errno that such a call gets.
KINDS = {"allocation": 0, "open": errno.EMFILE, "write": errno.ENOSPC, "sync": errno.EIO,
         "map": errno.ENOMEM, "memory_file": errno.EMFILE, "thread": errno.EAGAIN,
         "descriptor": errno.EMFILE, "rename": errno.ENOSPC, "read": errno.EIO}
HEAD = struct.Struct("=IiqQ")
SIZE = HEAD.size + 8 * len(KINDS)


class Faults:
    """The calls of the programs that were started with its `env`."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile()
        self.file.truncate(SIZE)
        self.memory = mmap.mmap(self.file.fileno(), SIZE)
        self.env = {"LD_PRELOAD": LIBRARY, "CLOCHE_FAULTS": self.file.name}

    def close(self) -> None:
        self.memory.close()
        self.file.close()

    def arm(self, kind: str, before: int) -> None:
        """The call of that kind fails that comes after so many others."""
        self.disarm()
        self.memory[4:24] = struct.pack("=iqQ", KINDS[kind], before, 0)
        self.memory[0:4] = struct.pack("=I", list(KINDS).index(kind) + 1)

    def disarm(self) -> bool:
        """Whether it has failed."""
        self.memory[0:4] = bytes(4)
        return HEAD.unpack(self.memory[:HEAD.size])[3] > 0

    def counts(self) -> dict:
        """How many calls of each kind there were."""
        return dict(zip(KINDS, struct.unpack(f"={len(KINDS)}Q", self.memory[HEAD.size:])))
