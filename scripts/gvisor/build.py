#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles gVisor's runsc from the Go module proxy into the cache, where the linux engine finds it for isolation=gvisor.

    build.py        compiles it where the cache has not got it: minutes of two processors
    build.py --has  prints its folder where the cache has it; exit 1 where not

go.mod beside it has the version, go.sum the hashes; see scripts/go_build.py. Exit 2 with one sentence where it cannot be had.
"""
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import go_build  # pylint: disable=wrong-import-position

MODULE = "gvisor.dev/gvisor"
VERSION = re.search(re.escape(MODULE) + r" v(\S+)", (HERE / "go.mod").read_text())[1]


class Runsc(go_build.Programs):
    """The version that was made last has a name without its version."""

    def make(self) -> Path:
        made = super().make()
        link, new = self.cache() / "runsc", self.cache() / "runsc.new"
        new.unlink(missing_ok=True)
        new.symlink_to(Path(made.name) / "runsc")
        os.replace(new, link)
        return made


if __name__ == "__main__":
    sys.exit(Runsc("gvisor", HERE, MODULE, [f"{MODULE}/runsc"], "run scripts/setup packages-gvisor.txt",
                   f"-X {MODULE}/runsc/version.version={VERSION}").main())
