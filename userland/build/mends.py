"""What Debian has mended since somebody looked, in what guests' programs are made of: the ports, their libraries, musl, C code in the interpreter.

    python3 userland/build/mends.py          prints what is new, or has been rewritten; 1 where there is any
    python3 userland/build/mends.py --seen   writes down that all of it was judged

A port takes what it has a use for by its table [source.patches]. What was judged and left (mends of parts that are not built, of other
systems, of the manual) is in userland/mends_left.toml, by package: a patch's name and SHA-256. Debian is asked with the machine's apt; a
package may have an older revision in reach, whose patches stay in the list.
"""
import pathlib
import sys
import tomllib

import libraries
import musl
import ports
import sources
from common import USERLAND, BuildError

LEFT = USERLAND / "mends_left.toml"
EXTENSIONS = USERLAND / "python" / "extensions" / "extensions.toml"


def debian_sources():
    """The source tables of Debian's packages, one for each archive, with what is taken of their patches."""
    used = [musl.SOURCE, *tomllib.loads(EXTENSIONS.read_text())["part"].values()]
    used += [library.source for library in libraries.load_all()]
    for port in ports.load_all():
        used += [port.source, *port.extra.values()]
    tables = {}
    for table in used:
        if table["kind"] == "debian":
            known = tables.setdefault(table["file"], dict(table, patches={}))
            known["patches"] |= table.get("patches", {})
    return tables.values()


def not_judged(source, left):
    """The revision that Debian has, and its patches that are neither taken nor left, with their SHA-256."""
    revision, patches = sources.patches_in_reach(source)
    return revision, {name: sha256 for name, sha256 in sorted(patches.items()) if sha256 not in (source["patches"].get(name), left.get(name))}


def write(left):
    lines = ["# Debian's patches that no port takes, as they were when somebody judged them. Written by userland/build/mends.py --seen."]
    for package, patches in sorted(left.items()):
        lines += ["", f'["{package}"]', *(f'"{name}" = "{sha256}"' for name, sha256 in sorted(patches.items()))]
    LEFT.write_text("\n".join(lines) + "\n")


def main(words):
    if words not in ([], ["--seen"]):
        sys.exit(__doc__.strip())
    left = tomllib.loads(LEFT.read_text()) if LEFT.exists() else {}
    found = 0
    sources.ask_debian_anew()
    for source in debian_sources():
        package = source["package"]
        revision, new = not_judged(source, left.get(package, {}))
        for name in new:
            print(f"{package} {revision}: {name}{' (rewritten)' if name in source['patches'] or name in left.get(package, {}) else ''}", flush=True)
        found += len(new)
        if words and new:
            left.setdefault(package, {}).update(new)
    if words:
        return write(left)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BuildError as error:
        sys.exit(f"mends: {error}")
