"""`TZ`: the zone of local time, for all that asks C for it. The table that the interpreter looks it up in is that of zone_patch.py.

A zone is a file of /usr/share/zoneinfo, or a rule of POSIX ("CET-1CEST,M3.5.0,M10.5.0/3"); what is neither is UTC under its own name,
as glibc has it.
"""
import operator
import os
import re
import struct
import time
from array import array
from functools import cache

import _host

FOLDER, LOCAL = "/usr/share/zoneinfo", "/etc/localtime"
_WORD = 512  # zone_patch.ZONE_WORD
_BEGINNING = -1 << 62
_FIRST_YEAR, _LAST_YEAR = 1900, 2400  # in which rules hold
_DAY = 86400
_MOST = 1 << 20  # bytes of a zone's file
_HOUR = 3600
_YEAR = (365 * 24 + 6) * _HOUR  # by which CPython finds out what the two kinds of time are
_DEFAULT_CHANGES = ("M3.2.0", "M11.1.0")
_RULE = re.compile(r"(?P<std>[A-Za-z]{3,}|<[\w+-]{3,}>)(?P<off>[+-]?\d{1,3}(?::\d{1,2}){0,2})"
                   r"(?:(?P<dst>[A-Za-z]{3,}|<[\w+-]{3,}>)(?P<dst_off>[+-]?\d{1,3}(?::\d{1,2}){0,2})?(?:,(?P<on>[^,]+),(?P<to>[^,]+))?)?",
                   re.ASCII)
_CHANGE = re.compile(r"(?:M(\d+)\.(\d+)\.(\d+)|J(\d+)|(\d+))(?:/([+-]?\d{1,3}(?::\d{1,2}){0,2}))?", re.ASCII)
_table = None  # keeps alive what the interpreter reads


def _seconds(text):
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    total = sum(part * scale for part, scale in zip(parts, (3600, 60, 1)))
    return -total if text.startswith("-") else total


def _first_day(year):
    """Days from 1970 to the first of January."""
    year -= 1
    return year * 365 + year // 4 - year // 100 + year // 400 - 719162


def _is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@cache
def _days_of(kind, month, week, weekday, number):
    """The beginnings, in seconds since 1970, of the days on which a change falls, year by year."""
    days = []
    lengths = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    before = sum(lengths[:month - 1]) if kind == "M" else 0
    for year in range(_FIRST_YEAR, _LAST_YEAR + 1):
        day, leap = _first_day(year), _is_leap(year)
        if kind == "J":
            day += number - 1 + (leap and number > 59)
        elif kind == "M":
            day += before + (leap and month > 2)
            length = lengths[month - 1] + (leap and month == 2)
            offset = (weekday - day - 4) % 7 + 7 * (week - 1)
            day += offset if offset < length else offset - 7
        else:
            day += number
        days.append(day * _DAY)
    return days


def _changes(text, first, offset):
    """Seconds since 1970 at which a change happens, from the year `first` on, in a zone that has this offset before it."""
    match = _CHANGE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    month, week, weekday, julian, number, at = match.groups()
    if month is not None:
        month, week, weekday = int(month), int(week), int(weekday)
        if not (1 <= month <= 12 and 1 <= week <= 5 and 0 <= weekday <= 6):
            raise ValueError(text)
        days = _days_of("M", month, week, weekday, 0)
    else:
        value = int(julian or number)
        if not (1 if julian else 0) <= value <= 365:
            raise ValueError(text)
        days = _days_of("J" if julian else "", 0, 0, 0, value)
    at = (_seconds(at) if at else 2 * _HOUR) - offset
    return [day + at for day in days[first - _FIRST_YEAR:]]


def _from_rule(text, after=_BEGINNING):
    """Of a rule, from `after` on: the entries that come once, and the two that come every year, with their starts."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    name, offset = match["std"].strip("<>"), -_seconds(match["off"])
    if match["dst"] is None:
        return [(after, offset, 0, name)], ()
    summer, summer_offset = match["dst"].strip("<>"), -_seconds(match["dst_off"]) if match["dst_off"] else offset + _HOUR
    first = min(max(1970 + after // _YEAR, _FIRST_YEAR), _LAST_YEAR)
    on, to = (match["on"], match["to"]) if match["on"] else _DEFAULT_CHANGES
    yearly = ((_changes(on, first, offset), summer_offset, 1, summer), (_changes(to, first, summer_offset), offset, 0, name))
    if yearly[0][0][0] > yearly[1][0][0]:
        yearly = yearly[::-1]
    (one, *_), (two, *_) = yearly
    if not (all(map(operator.lt, one, two)) and all(map(operator.le, two, one[1:]))):
        raise ValueError(text)
    once = [(after, *yearly[1][1:])]  # the other half of the winter or summer before
    while one and one[0] <= after:
        once = [(after, *yearly[0][1:])]
        if two[0] <= after:
            once = [(after, *yearly[1][1:])]
        else:
            once.append((two[0], *yearly[1][1:]))
        del one[0], two[0]
    return once, yearly


def _from_file(data):
    """Of a file, of version 2 or later, in the same way."""
    if data[:4] != b"TZif" or data[4:5] < b"2":
        raise ValueError("no zone")
    head = struct.Struct(">4s16x6I")

    def size(counts, width):
        utc, standard, leaps, times, types, letters = counts
        return times * (width + 1) + types * 6 + letters + leaps * (width + 4) + standard + utc

    begin = head.size
    begin += size(head.unpack_from(data)[1:], 4)
    counts = head.unpack_from(data, begin)[1:]
    at = begin + head.size
    end = at + size(counts, 8)
    _, _, _, times, types, letters = counts
    starts = struct.unpack_from(f">{times}q", data, at)
    kinds = data[at + 8 * times:at + 9 * times]
    at += 9 * times
    names = data[at + 6 * types:at + 6 * types + letters]
    described = []
    for i in range(types):
        offset, summer, name = struct.unpack_from(">iBB", data, at + 6 * i)
        described.append((offset, summer, names[name:names.index(0, name)].decode("ascii")))
    once = [(_BEGINNING, *described[0]), *((start, *described[kind]) for start, kind in zip(starts, kinds, strict=True))]
    rule = data[end + 1:data.index(b"\n", end + 1)].decode("ascii")
    if not rule:
        return once, ()
    after, yearly = _from_rule(rule, once[-1][0])
    return once + after[1 if starts else 0:], yearly


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
        return _from_file(_read(os.path.join(FOLDER, name)))
    except (OSError, ValueError, LookupError, struct.error):
        pass
    try:
        return _from_rule(name)
    except ValueError:
        match = re.match("[A-Za-z]{3,}", name, re.ASCII)
        return [(_BEGINNING, 0, 0, match[0] if match else "")], ()


def _local():
    """The zone without a TZ; None for UTC."""
    try:
        return _from_file(_read(LOCAL))
    except (OSError, ValueError, LookupError, struct.error):
        return None


def _others(entries):
    """For each entry the offset of the other kind of time around it, or one hour from its own."""
    others = []
    for i, (start, offset, summer, _) in enumerate(entries):
        if i + 1 < len(entries) and entries[i + 1][2] != summer and entries[i + 1][0] - start < 9 * _YEAR:
            others.append(entries[i + 1][1])
        elif i > 0 and entries[i - 1][2] != summer:
            others.append(entries[i - 1][1])
        else:
            others.append(offset - _HOUR if summer else offset + _HOUR)
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
    start = int(time.time()) // _YEAR * _YEAR
    january, july = (time.localtime(at) for at in (start, start + _YEAR // 2))
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
    for rule in ("M3.5.0", "M10.5.0", *_DEFAULT_CHANGES):  # of most of the world's zones
        _changes(rule, _FIRST_YEAR, 0)
