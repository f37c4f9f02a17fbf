# SPDX-License-Identifier: Apache-2.0
"""The list of parts names all that is shipped, each with the hash that the build checks, and is what SPDX 2.3 says."""
import json
import os
import re
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

from installed import SOURCE, VERSION, run


class SbomTest(unittest.TestCase):
    def document(self, machine: str, **environment: str) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "parts.json"
            done = run(sys.executable, SOURCE / "packaging/sbom.py", machine, target, env={**os.environ, **environment})
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(target.read_text())

    def test_it_has_what_the_specification_wants(self) -> None:
        made = self.document("x86_64")
        self.assertEqual((made["spdxVersion"], made["dataLicense"], made["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertRegex(made["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        identifiers = [part["SPDXID"] for part in made["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for part in made["packages"]:
            self.assertRegex(part["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertTrue(part["name"] and part["versionInfo"], part)
            for checksum in part.get("checksums", ()):
                self.assertRegex(checksum["checksumValue"], r"^[0-9a-f]{64}$")
        related = {relation["relatedSpdxElement"] for relation in made["relationships"]}
        self.assertEqual(related, set(identifiers))

    def test_every_guest_program_and_shipped_part_is_in_it(self) -> None:
        for machine in ("x86_64", "aarch64"):
            text = json.dumps(self.document(machine))
            for recipe in [*(SOURCE / "userland/ports").glob("*/port.toml"), *(SOURCE / "userland/libraries").glob("*/library.toml")]:
                source = tomllib.loads(recipe.read_text())["source"]
                self.assertTrue("library" in source or source["sha256"] in text, recipe.parent.name)
            for part in tomllib.loads((SOURCE / "third_party.lock.toml").read_text())["part"]:
                shipped = part.get("machine", machine) == machine and not part.get("tool")
                self.assertEqual(part["sha256"] in text, shipped, part["name"])

    def test_it_bears_the_time_and_version_that_it_is_told_and_is_the_same_each_time(self) -> None:
        made = [self.document("x86_64", SOURCE_DATE_EPOCH="1700000000") for _ in range(2)]
        self.assertEqual(made[0], made[1])
        self.assertEqual(made[0]["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        product = next(part for part in made[0]["packages"] if part["name"] == "cloche")
        self.assertEqual((product["versionInfo"], product["licenseDeclared"]), (VERSION, "Apache-2.0"))

    def test_licences_are_known(self) -> None:
        unknown = [part["name"] for part in self.document("x86_64")["packages"] if part["licenseDeclared"] == "NOASSERTION"]
        self.assertLessEqual(len(unknown), 12, unknown)
        self.assertFalse([name for name in unknown if re.search("bash|coreutils|git", name)], unknown)


if __name__ == "__main__":
    unittest.main()
