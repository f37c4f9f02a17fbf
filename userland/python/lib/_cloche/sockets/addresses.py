"""Numeric addresses: their texts and their bytes, as C's inet_pton and inet_ntop have them."""
import errno
import struct

AF_INET, AF_INET6 = 2, 10
_HEX = frozenset("0123456789abcdefABCDEF")


def inet_aton(text, /):
    if not isinstance(text, str):
        raise TypeError(f"inet_aton() argument 1 must be str, not {type(text).__name__}")
    word = text[:1] + text[1:].partition(" ")[0]
    for space in "\t\n\v\f\r":
        word = word.partition(space)[0]  # what follows is not looked at
    try:
        numbers = [_number(part) for part in word.split(".")]
        if not 1 <= len(numbers) <= 4 or any(n > 255 for n in numbers[:-1]) or numbers[-1] >= 256 ** (5 - len(numbers)):
            raise ValueError
    except ValueError:
        raise OSError("illegal IP address string passed to inet_aton") from None
    return bytes(numbers[:-1]) + numbers[-1].to_bytes(5 - len(numbers), "big")


def _number(text):
    """As C has it: hexadecimal, octal or decimal."""
    base, digits = (16, text[2:]) if text[:2].lower() == "0x" else (8, text[1:]) if text[:1] == "0" and len(text) > 1 else (10, text)
    if set(digits) - _HEX:
        raise ValueError
    return int(digits, base)


def inet_ntoa(packed, /):
    packed = bytes(packed)
    if len(packed) != 4:
        raise OSError("packed IP wrong length")
    return "%d.%d.%d.%d" % tuple(packed)


def inet_pton(family, text, /):
    if family == AF_INET:
        parts = text.split(".")
        if len(parts) == 4 and all(p.isascii() and p.isdigit() and (p == "0" or p[0] != "0") and int(p) < 256 for p in parts):
            return bytes(map(int, parts))
    elif family == AF_INET6:
        try:
            return _parse_v6(text)
        except ValueError:
            pass
    else:
        raise OSError(errno.EAFNOSUPPORT, "unknown address family")
    raise OSError("illegal IP address string passed to inet_pton")


def _parse_v6(text):
    head, double, tail = text.partition("::")
    if double and "::" in tail:
        raise ValueError

    def groups(part, is_last):
        words = []
        items = part.split(":") if part else []
        for i, item in enumerate(items):
            if "." in item:
                if i != len(items) - 1 or not is_last:
                    raise ValueError
                try:
                    words += struct.unpack(">HH", inet_pton(AF_INET, item))
                except OSError:
                    raise ValueError from None
            elif 1 <= len(item) <= 4 and not set(item) - _HEX:
                words.append(int(item, 16))
            else:
                raise ValueError
        return words

    first, last = groups(head, not double), groups(tail, True)
    missing = 8 - len(first) - len(last)
    if missing < 0 or (missing > 0) != bool(double) and not (double and missing >= 1):
        raise ValueError
    return struct.pack(">8H", *first, *[0] * missing, *last)


def inet_ntop(family, packed, /):
    packed = bytes(packed)
    if family == AF_INET:
        if len(packed) != 4:
            raise ValueError("invalid length of packed IP address string")
        return inet_ntoa(packed)
    if family != AF_INET6:
        raise OSError(errno.EAFNOSUPPORT, f"unknown address family {family}")
    if len(packed) != 16:
        raise ValueError("invalid length of packed IP address string")
    if packed[:12] == bytes(10) + b"\xff\xff":
        return "::ffff:" + inet_ntoa(packed[12:])
    words = struct.unpack(">8H", packed)
    best, length, i = -1, 1, 0
    while i < 8:
        j = i
        while j < 8 and words[j] == 0:
            j += 1
        if j - i > length:
            best, length = i, j - i
        i = max(j, i + 1)
    if best < 0:
        return ":".join("%x" % word for word in words)
    return ":".join("%x" % w for w in words[:best]) + "::" + ":".join("%x" % w for w in words[best + length:])


def literal(text):
    """(family, text as it is usually written) of a numeric address; None for a name."""
    for family in (AF_INET, AF_INET6):
        try:
            return family, inet_ntop(family, inet_pton(family, text))
        except OSError:
            continue
    return None
