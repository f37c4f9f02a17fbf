#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the npm package and runs its tests on the Node of this machine: package_test.py SOURCE WORK

Status 77, and a sentence, where there is no Node or the registry cannot be reached.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77


def skip(why: str) -> None:
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def main() -> None:
    source, work = Path(sys.argv[1]), Path(sys.argv[2])
    if not shutil.which("node") or not shutil.which("npm"):
        skip("there is no Node with npm on this machine")
    work.mkdir(parents=True, exist_ok=True)
    for name in ("dist", "src", "test", "unpacked"):
        shutil.rmtree(work / name, ignore_errors=True)
    shutil.copytree(source, work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "dist"))
    version = (source.parents[1] / "VERSION").read_text().strip()
    package = json.loads((work / "package.json").read_text())
    package["version"] = version
    (work / "package.json").write_text(json.dumps(package, indent=2) + "\n")
    got = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"],
                         cwd=work, capture_output=True, text=True)
    if got.returncode != 0:
        skip("npm cannot have what the build needs: " + (got.stderr.strip().splitlines() or ["?"])[-1])
    subprocess.run(["npm", "run", "--silent", "build"], cwd=work, check=True)
    packed = json.loads(subprocess.run(["npm", "pack", "--json", "--ignore-scripts"], cwd=work, check=True,
                                       stdout=subprocess.PIPE, text=True).stdout)[0]
    names = {file["path"] for file in packed["files"]}
    assert {"package.json", "dist/index.js", "dist/index.d.ts", "dist/browser.js"} <= names, names
    assert not any(name.startswith(("src/", "test/")) for name in names), names
    declared = "".join(path.read_text() for path in (work / "dist").glob("*.d.ts"))
    declared = re.sub(r"/\*.*?\*/|//[^\n]*", "", declared, flags=re.S)
    assert not re.search(r"\bany\b", declared), "the declarations say `any`"
    # As users have it: from the archive, without what only the build needs.
    user = work / "unpacked"
    (user / "node_modules").mkdir(parents=True)
    subprocess.run(["tar", "-xzf", work / packed["filename"], "-C", user / "node_modules"], check=True)
    (user / "node_modules" / "package").rename(user / "node_modules" / "cloche")
    (user / "node_modules" / "ws").symlink_to(work / "node_modules" / "ws")
    shutil.copytree(work / "test", user / "test")
    (user / "package.json").write_text('{"type": "module"}\n')
    page = (source.parents[1] / "src/doors/skills/pages/typescript.md").read_text()
    for code, printed in re.findall(r"^```js\n(.*?)^```\n```text\n(.*?)^```\n", page, re.M | re.S):
        done = subprocess.run(["node", "--input-type=module", "-e", code], cwd=user, capture_output=True, text=True)
        assert (done.stdout, done.returncode) == (printed, 0), done
    # By name: a folder is searched by Node 20 and loaded as a module by Node 22.
    tests = sorted(str(path.relative_to(user)) for path in (user / "test").glob("*.test.js"))
    sys.exit(subprocess.run(["node", "--test", *tests], cwd=user, env={**os.environ, "NODE_NO_WARNINGS": "1"}).returncode)


if __name__ == "__main__":
    main()
