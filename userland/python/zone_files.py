"""Files of time zones for readers that know their first version alone, such as dateutil: Debian's have it filled in as well.

The wheel's files are of the second version with the block of the first one empty, in which such a reader finds UTC for every zone of
the world, and says nothing. Its times have 32 bits, so it ends in 2038.
"""
import struct
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "lib" / "_cloche" / "host"))
import zone_rules  # noqa: E402

MAGIC = b"TZif"
HEAD = struct.Struct(">4sc15x6I")
FIRST, END = -1 << 31, 1 << 31


def _changes(data):
    """What holds before all that 32 bits can tell, and what from when on: (offset, whether it is summer, name)."""
    once, yearly = zone_rules.from_file(data)
    entries = [(start, tuple(kind)) for start, *kind in once]
    entries += [(start, tuple(kind)) for starts, *kind in yearly for start in starts]
    entries.sort(key=lambda entry: entry[0])
    before = [kind for start, kind in entries if start <= FIRST]
    changes = [(FIRST, before[-1])] if len(before) > 1 else []
    return before[0], changes + [entry for entry in entries if FIRST < entry[0] < END]


def _block(version, data):
    first, changes = _changes(data)
    kinds = list(dict.fromkeys([first, *(kind for _, kind in changes)]))
    names, places = b"", {}
    for _, _, name in kinds:
        if name not in places:
            places[name] = len(names)
            names += name.encode("ascii") + b"\0"
    head = HEAD.pack(MAGIC, version, 0, 0, 0, len(changes), len(kinds), len(names))
    times = b"".join(struct.pack(">i", start) for start, _ in changes) + bytes(kinds.index(kind) for _, kind in changes)
    return head + times + b"".join(struct.pack(">iBB", offset, summer, places[name]) for offset, summer, name in kinds) + names


def with_first_version(data):
    """The file with the first version's block filled in; any other file as it is."""
    if data[:4] != MAGIC or data[4:5] < b"2":
        return data
    version, utc, standard, leaps, times, types, letters = HEAD.unpack_from(data)[1:]
    second = HEAD.size + 5 * times + 6 * types + letters + 8 * leaps + standard + utc
    return _block(version, data) + data[second:]
