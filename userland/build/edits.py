"""Scripted edits of upstream sources, for a port's edit.py: each names the place by a few words of it, says why, and
fails when the source is not as expected."""

import pathlib
import sys


def _fail(path, what, why):
    sys.exit(f"{path}: {what} (the edit that {why})")


def replace(path, old, new, why):
    """Puts `new` in the place of the only occurrence of `old`."""
    text = pathlib.Path(path).read_text(encoding="latin-1")
    count = text.count(old)
    if count != 1:
        _fail(path, f"{old.strip().splitlines()[0]!r} is there {count} times, not once", why)
    pathlib.Path(path).write_text(text.replace(old, new), encoding="latin-1")


def replace_all(path, pairs, why):
    """Of each pair (old, new): puts `new` in the place of every occurrence of `old`, of which there is one at least."""
    text = pathlib.Path(path).read_text(encoding="latin-1")
    for old, new in pairs:
        if old not in text:
            _fail(path, f"{old.strip().splitlines()[0]!r} is not there", why)
        text = text.replace(old, new)
    pathlib.Path(path).write_text(text, encoding="latin-1")


def before(path, anchor, new, why):
    """Puts `new` in front of the only occurrence of `anchor`."""
    replace(path, anchor, new + anchor, why)


def after(path, anchor, new, why):
    """Puts `new` behind the only occurrence of `anchor`."""
    replace(path, anchor, anchor + new, why)
