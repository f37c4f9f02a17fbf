"""`TZ`: the zone of local time, for all that asks C for it. The table that the interpreter looks it up in is that of zone_patch.py.

A zone is a file of /usr/share/zoneinfo, or a rule of POSIX ("CET-1CEST,M3.5.0,M10.5.0/3"); what is neither is UTC under its own name,
as glibc has it.
"""
import os
import re
import struct
import time
from array import array
from functools import cache

import _host

from .zone_rules import BEGINNING, HOUR, YEAR, from_file, from_rule, remember_usual

FOLDER, LOCAL = "/usr/share/zoneinfo", "/etc/localtime"
_WORD = 512  # zone_patch.ZONE_WORD
_MOST = 1 << 20  # bytes of a zone's file
_table = None  # keeps alive what the interpreter reads


def _read(path):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        data = b""
        while len(data) <= _MOST and (piece := os.read(fd, 1 << 16)):
            data += piece
        return data
    finally:
        os.close(fd)


def _zone(name):
    """The zone that TZ names; None for UTC."""
    if name in ("", "UTC"):
        return None
    name = name.removeprefix(":")
    try:
        return from_file(_read(os.path.join(FOLDER, name)))
    except (OSError, ValueError, LookupError, struct.error):
        pass
    try:
        return from_rule(name)
    except ValueError:
        match = re.match("[A-Za-z]{3,}", name, re.ASCII)
        return [(BEGINNING, 0, 0, match[0] if match else "")], ()


def _local():
    """The zone without a TZ; None for UTC."""
    try:
        return from_file(_read(LOCAL))
    except (OSError, ValueError, LookupError, struct.error):
        return None


def _others(entries):
    """For each entry the offset of the other kind of time around it, or one hour from its own."""
    others = []
    for i, (start, offset, summer, _) in enumerate(entries):
        if i + 1 < len(entries) and entries[i + 1][2] != summer and entries[i + 1][0] - start < 9 * YEAR:
            others.append(entries[i + 1][1])
        elif i > 0 and entries[i - 1][2] != summer:
            others.append(entries[i - 1][1])
        else:
            others.append(offset - HOUR if summer else offset + HOUR)
    return others


def _written(once, yearly):
    """The table, as an array whose address does not change."""
    names, places = bytearray(), {}
    for name in dict.fromkeys(["", *(entry[-1] for entry in (*once, *yearly))]):
        places[name] = len(names)
        names += name.encode("ascii") + b"\0"
    each = len(yearly[0][0]) if yearly else 0
    count = len(once) + 2 * each
    head = 2 + 4 * count
    table = array("q", bytes(8 * head) + names + bytes(-len(names) % 8))
    base = table.buffer_info()[0] + 8 * head
    here = {name: base + at for name, at in places.items()}
    last = {summer: name for _, _, summer, name in (*once, *yearly)}
    table[0:2] = array("q", struct.pack("<IIII", count, here[last.get(0, "")], here[last.get(1, "")], 0))
    words = cache(lambda *entry: struct.unpack("<qq", struct.pack("<iIIi", *entry)))  # of an entry, without its starts
    with_next = [*once, *((starts[0], *rest) for starts, *rest in yearly)]
    flat = []
    for (start, offset, summer, name), other in zip(once, _others(with_next)):
        flat += (start, start + offset, *words(offset, summer, here[name], other))
    table[2:2 + len(flat)] = array("q", flat)
    at = 2 + len(flat)
    for i, (starts, offset, summer, name) in enumerate(yearly):
        rest = words(offset, summer, here[name], yearly[1 - i][1])
        columns = (starts, [start + offset for start in starts], *([word] * each for word in rest))
        for place, column in enumerate(columns, at + 4 * i):
            table[place:at + 8 * each:8] = array("q", column)
    return table


def _use(table):
    global _table
    address = table.buffer_info()[0] if table is not None else 0
    _host.call(bytearray(b"pok0" + struct.pack("<II", _WORD, address)))
    _table = table


def _describe():
    """time.tzname and its like, as CPython finds them: by the first days and the middles of years."""
    start = int(time.time()) // YEAR * YEAR
    january, july = (time.localtime(at) for at in (start, start + YEAR // 2))
    if january.tm_gmtoff > july.tm_gmtoff:
        january, july = july, january  # the south
    time.timezone, time.altzone = -january.tm_gmtoff, -july.tm_gmtoff
    time.daylight = int(january.tm_gmtoff != july.tm_gmtoff)
    time.tzname = (january.tm_zone[:9], july.tm_zone[:9])


def tzset():
    """tzset()

    Takes the local time zone from the environment's TZ."""
    name = os.environ.get("TZ")
    zone = _local() if name is None else _zone(name)
    if zone is None and _table is None:
        return
    _use(None if zone is None else _written(*zone))
    _describe()


def adopt():
    """Of a process that starts: the image has UTC."""
    if os.environ._data.get(b"TZ") != b"UTC":
        tzset()


def install():
    time.tzset = tzset
    remember_usual()
