"""What `strftime` of Linux has, and that of the C library here has not: %k, %l, %P, and the flags ^ and #.

That one gives nothing at all for a format with such a conversion. What is no conversion stays as it is written, as on Linux. datetime's
and pandas' methods call this function as well.
"""
import re
import time

_own = time.strftime
_CONVERSION = re.compile(r"%([-_0+^#]*)([0-9]*)([EO]?)(.?)", re.DOTALL)
_KNOWN = frozenset("aAbBcCdDeFgGhHIjmMnprRsStTuUVwWxXyYzZ%")


def _written(conversion, when):
    """A conversion as the C library knows it, or what it stands for."""
    flags, width, _, letter = conversion.groups()
    cases = "^" in flags or "#" in flags
    if letter in _KNOWN and not cases:
        return conversion[0]
    hour = when[3]
    if letter in ("k", "l"):
        number = hour if letter == "k" else hour % 12 or 12
        text = str(number) if "-" in flags else str(number).rjust(int(width or 2), "0" if "0" in flags else " ")
    elif letter == "P":
        text = "am" if hour < 12 else "pm"
    elif letter in _KNOWN:
        text = _own(re.sub("[#^]", "", conversion[0]), when)
        text = text.lower() if "#" in flags and letter in ("p", "Z") else text.upper()
    else:
        text = conversion[0]
    return text.replace("%", "%%")


def strftime(format, time_tuple=None, /):
    if isinstance(format, str) and any(found[4] not in _KNOWN or "^" in found[1] or "#" in found[1] for found in _CONVERSION.finditer(format)):
        when = time.localtime() if time_tuple is None else time_tuple
        if isinstance(when, tuple) and len(when) > 3:
            _own("", when)  # which says what is wrong with it
            return _own(_CONVERSION.sub(lambda conversion: _written(conversion, when), format), when)
    return _own(format) if time_tuple is None else _own(format, time_tuple)


def install():
    strftime.__doc__, strftime.__module__ = _own.__doc__, "time"
    time.strftime = strftime
