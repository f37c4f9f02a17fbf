"""Zones of local time as their files and the rules of POSIX have them ("CET-1CEST,M3.5.0,M10.5.0/3"), in the guest and where it is built."""
import operator
import re
import struct
from functools import cache

BEGINNING = -1 << 62
_FIRST_YEAR, _LAST_YEAR = 1900, 2400  # in which rules hold
_DAY = 86400
HOUR = 3600
YEAR = (365 * 24 + 6) * HOUR  # by which CPython finds out what the two kinds of time are
_DEFAULT_CHANGES = ("M3.2.0", "M11.1.0")
_RULE = re.compile(r"(?P<std>[A-Za-z]{3,}|<[\w+-]{3,}>)(?P<off>[+-]?\d{1,3}(?::\d{1,2}){0,2})"
                   r"(?:(?P<dst>[A-Za-z]{3,}|<[\w+-]{3,}>)(?P<dst_off>[+-]?\d{1,3}(?::\d{1,2}){0,2})?(?:,(?P<on>[^,]+),(?P<to>[^,]+))?)?",
                   re.ASCII)
_CHANGE = re.compile(r"(?:M(\d+)\.(\d+)\.(\d+)|J(\d+)|(\d+))(?:/([+-]?\d{1,3}(?::\d{1,2}){0,2}))?", re.ASCII)


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
    at = (_seconds(at) if at else 2 * HOUR) - offset
    return [day + at for day in days[first - _FIRST_YEAR:]]


def from_rule(text, after=BEGINNING):
    """Of a rule, from `after` on: the entries that come once, and the two that come every year, with their starts."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    name, offset = match["std"].strip("<>"), -_seconds(match["off"])
    if match["dst"] is None:
        return [(after, offset, 0, name)], ()
    summer, summer_offset = match["dst"].strip("<>"), -_seconds(match["dst_off"]) if match["dst_off"] else offset + HOUR
    first = min(max(1970 + after // YEAR, _FIRST_YEAR), _LAST_YEAR)
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


def from_file(data):
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
    once = [(BEGINNING, *described[0]), *((start, *described[kind]) for start, kind in zip(starts, kinds, strict=True))]
    rule = data[end + 1:data.index(b"\n", end + 1)].decode("ascii")
    if not rule:
        return once, ()
    after, yearly = from_rule(rule, once[-1][0])
    return once + after[1 if starts else 0:], yearly


def remember_usual():
    """Of most of the world's zones, so that a start need not find out."""
    for rule in ("M3.5.0", "M10.5.0", *_DEFAULT_CHANGES):
        _changes(rule, _FIRST_YEAR, 0)
