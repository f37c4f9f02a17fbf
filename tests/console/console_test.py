#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the console in a headless Chromium: console_test.py WORK

WORK/shots has pictures of all views afterwards, light and dark, narrow and wide. Status 77, and a
sentence, where there is no Chromium, no Node, or no playwright-core to be had.
"""
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "http"))
from server import Server  # noqa: E402

SKIPPED = 77
TOKEN = "console-test-token"


def skip(why: str) -> None:
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def main() -> None:
    work = Path(sys.argv[1])
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        skip("there is no chromium on this machine")
    if not shutil.which("node") or not shutil.which("npm"):
        skip("there is no Node with npm on this machine")
    work.mkdir(parents=True, exist_ok=True)
    for name in ("console_test.mjs", "open_server_test.mjs"):
        shutil.copy(HERE / name, work)
    (work / "package.json").write_text('{"type": "module", "dependencies": {"playwright-core": "1.65.1"}}\n')
    got = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"],
                         cwd=work, capture_output=True, text=True)
    if got.returncode != 0:
        skip("npm cannot have playwright-core: " + (got.stderr.strip().splitlines() or ["?"])[-1])
    with Server("serve", "--token", TOKEN) as server:
        done = subprocess.run(["node", "console_test.mjs", chromium, server.url, TOKEN, str(work / "shots")], cwd=work)
    with Server("serve") as server:
        without = subprocess.run(["node", "open_server_test.mjs", chromium, server.url], cwd=work)
    sys.exit(done.returncode or without.returncode)


if __name__ == "__main__":
    main()
