# SPDX-License-Identifier: Apache-2.0
"""The guests' system is the same in whatever order its ports were built.

    stage_test.py SOURCE
"""

import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "userland" / "build"))

import ports  # noqa: E402
import stage  # noqa: E402
from common import BuildError  # noqa: E402


class Stage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def port(self, name, priority, *paths):
        """As build.py has it: what is known of a port, and the folder that it was built into."""
        built = self.folder / name
        for path in paths:
            (built / path).parent.mkdir(parents=True, exist_ok=True)
            (built / path).write_text(f"of {name}\n")
        return ports.Port(built, name, "1", "MIT", groups=(), priority=priority, commands=(), source={}, shares_source=False, needs=(), extra={}), built

    def staged(self, ports):
        out = self.folder / "out"
        self.assertTrue(stage.stage(ports, out))
        return (out / "system.index").read_text(), (out / "files.pack").read_bytes()

    def test_the_order_of_the_ports_changes_nothing(self):
        ports = [self.port("one", 0, "usr/bin/a", "usr/bin/both"), self.port("two", 5, "usr/bin/b", "usr/bin/both")]
        index, pack = self.staged(ports)
        self.assertIn(b"of two\n", pack)
        self.assertEqual(pack.count(b"of one\n"), 1)  # `a`; `both` is of the higher priority
        (self.folder / ".out.stamp").unlink()
        self.assertEqual(self.staged(ports[::-1]), (index, pack))

    def test_two_that_bring_the_same_need_different_priorities(self):
        ports = [self.port("one", 0, "usr/bin/both"), self.port("two", 0, "usr/bin/both")]
        for order in ports, ports[::-1]:
            with self.assertRaisesRegex(BuildError, "one and two both bring usr/bin/both"):
                stage.stage(order, self.folder / "out")


if __name__ == "__main__":
    unittest.main()
