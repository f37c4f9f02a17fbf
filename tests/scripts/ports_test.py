# SPDX-License-Identifier: Apache-2.0
"""The changes of the ports: a patch begins with its reason, and what an edit.py does is a few lines.

    ports_test.py SOURCE
"""

import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
PORTS = SOURCE / "userland/ports"
EDIT_LINES_MAX = 50  # with its reasons; what is more is patches


class Ports(unittest.TestCase):
    def test_patches_begin_with_their_reason(self):
        patches = sorted(PORTS.glob("*/patches/*"))
        self.assertTrue(patches)
        for path in patches:
            with self.subTest(patch=str(path.relative_to(PORTS))):
                self.assertRegex(path.name, r"^\d\d-[a-z0-9-]+\.patch$")
                reason, _, change = path.read_text(encoding="latin-1").partition("\n\n--- a/")
                self.assertRegex(reason, r"(?s)^[^\s].*\.$")
                self.assertLessEqual(max(map(len, reason.splitlines())), 100)
                self.assertIn("\n@@ ", change)

    def test_patches_of_a_port_have_an_order(self):
        for folder in sorted(PORTS.glob("*/patches")):
            numbers = [int(path.name[:2]) for path in sorted(folder.iterdir())]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)), folder)

    def test_what_is_edited_is_a_few_lines(self):
        for path in sorted(PORTS.glob("*/edit*.py")):
            with self.subTest(edit=str(path.relative_to(PORTS))):
                text = path.read_text(encoding="utf-8")
                self.assertEqual(path.name, "edit.py")
                self.assertLessEqual(len(text.splitlines()), EDIT_LINES_MAX)
                self.assertTrue(re.match(r'""".*?"""', text, re.S))


if __name__ == "__main__":
    unittest.main()
