#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of parts of what is published, as SPDX 2.3 in JSON (https://spdx.github.io/spdx-spec/v2.3/).

    packaging/sbom.py MACHINE OUT    MACHINE as `uname -m` says it; OUT is the file to write

It names what the program, the guests' system and the library are made of, each with version, licence, where it comes
from and the hash that the build checks: the registries' parts (third_party.lock.toml), the guests' programs
(userland/ports) and the Debian packages that are linked in. SOURCE_DATE_EPOCH says the time that it bears.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "VERSION").read_text().strip()
DEFAULT_EPOCH = "1767225600"
# A row of docs/dependencies.md.
ROW = re.compile(r"^\| (?P<name>[^|]+) \|.*\| (?P<licence>[^|]+) \|$")


def identifier(*words: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words)).strip("-")


def package(name: str, version: str, licence: str, location: str, digest: str | None = None, purl: str | None = None) -> dict:
    made = {"SPDXID": identifier("Package", name, version), "name": name, "versionInfo": version, "downloadLocation": location,
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION"}
    if digest:
        made["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    if purl:
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return made


def expression(text: str) -> str:
    """A licence of docs/dependencies.md as an SPDX expression; NOASSERTION where it is words."""
    text = text.strip().replace("Apache-2.0 with LLVM exception", "Apache-2.0 WITH LLVM-exception").replace(" or ", " OR ")
    return text if re.fullmatch(r"[A-Za-z0-9.+-]+( (OR|AND|WITH) [A-Za-z0-9.+-]+)*", text) else "NOASSERTION"


def licence_rows() -> dict[str, str]:
    """12 digits of a hash, or a Debian package -> licence, of the tables in docs/dependencies.md."""
    found = {}
    for line in (ROOT / "docs/dependencies.md").read_text().splitlines():
        if row := ROW.match(line):
            for key in re.findall(r"`([0-9a-f]{12}|lib[a-z0-9.+-]+-dev|nlohmann-json3-dev)`", line):
                found[key] = expression(row["licence"])
    return found


def registry_parts(machine: str, licences: dict[str, str]) -> list[dict]:
    lock = tomllib.loads((ROOT / "third_party.lock.toml").read_text())
    made = []
    for part in lock["part"]:
        if part.get("machine", machine) != machine or part.get("tool"):
            continue
        kind = {"pypi": "pypi", "crate": "cargo", "npm": "npm"}[part["kind"]]
        made.append(package(part["package"], part["version"], licences.get(part["sha256"][:12], "NOASSERTION"), "NOASSERTION",
                            part["sha256"], f"pkg:{kind}/{part['package']}@{part['version']}"))
    return made


def guest_programs() -> list[dict]:
    made = []
    for recipe in sorted((ROOT / "userland/ports").glob("*/port.toml")):
        port = tomllib.loads(recipe.read_text())
        shared = port["source"].get("library")
        made.append(source_package(f"{port['name']} (guest program)", port, guest_library(shared)["source"] if shared else port["source"]))
        made += [source_package(f"{name} (guest program)", extra, extra) for name, extra in port.get("extra", {}).items()]
    return made


def guest_library(name: str) -> dict:
    return tomllib.loads((ROOT / "userland/libraries" / name / "library.toml").read_text())


def guest_libraries() -> list[dict]:
    found = [guest_library(path.parent.name) for path in sorted((ROOT / "userland/libraries").glob("*/library.toml"))]
    return [source_package(f"{library['name']} (library of guest programs)", library, library["source"]) for library in found]


def source_package(name: str, about: dict, source: dict) -> dict:
    purl = f"pkg:deb/debian/{source['package']}@{about['version']}?arch=source" if source["kind"] == "debian" else None
    return package(name, about["version"], expression(about["licence"]), "NOASSERTION", source["sha256"], purl)


def interpreter_extensions() -> list[dict]:
    recipes = [tomllib.loads((ROOT / "userland/python" / name).read_text()) for name in ("extensions/extensions.toml", "rust/packages.toml")]
    made = []
    for name, part in sorted((name, part) for recipe in recipes for name, part in recipe["part"].items()):
        purl = f"pkg:deb/debian/{part['package']}@{part['version']}?arch=source" if part["kind"] == "debian" else f"pkg:pypi/{part['package']}@{part['version']}"
        made.append(package(f"{name} (in the guests' Python)", part["version"], expression(part["licence"]), "NOASSERTION", part["sha256"], purl))
    return made


def interpreter_crates() -> list[dict]:
    lock = tomllib.loads((ROOT / "userland/python/rust/crates.lock").read_text())
    said = tomllib.loads((ROOT / "packaging/crate_licences.toml").read_text())
    return [package(f"{crate['name']} (in the guests' Python)", crate["version"], said["licences"].get(crate["name"], "NOASSERTION"), "NOASSERTION",
                    crate["checksum"], f"pkg:cargo/{crate['name']}@{crate['version']}")
            for crate in lock["package"] if "checksum" in crate and crate["name"] not in said["for_other_machines"]]


def linked_libraries(licences: dict[str, str]) -> list[dict]:
    names = []
    for line in (ROOT / "scripts/packages.txt").read_text().splitlines():
        if re.search(r"#.*\(.*(linked|headers only)", line):
            names.append(line.split()[0])
    versions = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names], capture_output=True, text=True, check=True)
    return [package(name, version, licences.get(name, "NOASSERTION"), "NOASSERTION", None, f"pkg:deb/debian/{name}@{version}")
            for name, version in (line.split() for line in versions.stdout.splitlines())]


def document(machine: str) -> dict:
    licences = licence_rows()
    product = package("cloche", VERSION, "Apache-2.0", "NOASSERTION")
    parts = registry_parts(machine, licences) + guest_programs() + guest_libraries() + interpreter_extensions() + interpreter_crates() + linked_libraries(licences)
    unique = {part["SPDXID"]: part for part in parts}
    digest = hashlib.sha256(json.dumps(unique, sort_keys=True).encode()).hexdigest()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", DEFAULT_EPOCH))))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"cloche-{VERSION}-{machine}",
        "documentNamespace": f"https://cloche.invalid/spdx/{VERSION}/{machine}/{digest}",
        "creationInfo": {"created": created, "creators": [f"Tool: cloche-sbom-{VERSION}"]},
        "packages": [product, *(unique[key] for key in sorted(unique))],
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": product["SPDXID"]},
                          *({"spdxElementId": product["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": key}
                            for key in sorted(unique))],
    }


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Path(sys.argv[2]).write_text(json.dumps(document(sys.argv[1]), indent=1) + "\n")
