"""Where the instructions of a function of WebAssembly begin."""
from wasm_module import uleb

NOTHING, INDEX, INDICES, MEMORY, BLOCK, BRANCHES, TYPES, FOUR, EIGHT, PREFIX = range(10)  # what follows an instruction's first byte


def _operands():
    kinds = [NOTHING] * 256
    for first, last, kind in ((0x02, 0x04, BLOCK), (0x06, 0x06, BLOCK), (0x07, 0x09, INDEX), (0x0C, 0x0D, INDEX), (0x0E, 0x0E, BRANCHES),
                              (0x10, 0x10, INDEX), (0x11, 0x11, INDICES), (0x12, 0x12, INDEX), (0x13, 0x13, INDICES), (0x18, 0x18, INDEX),
                              (0x1C, 0x1C, TYPES), (0x20, 0x26, INDEX), (0x28, 0x3E, MEMORY), (0x3F, 0x42, INDEX), (0x43, 0x43, FOUR),
                              (0x44, 0x44, EIGHT), (0xD0, 0xD0, INDEX), (0xD2, 0xD2, INDEX), (0xFC, 0xFE, PREFIX)):
        kinds[first:last + 1] = [kind] * (last + 1 - first)
    return kinds


KINDS = _operands()
NUMBERS_OF_BULK = {8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 13: 1, 14: 2, 15: 1, 16: 1, 17: 1}  # indices that follow, by the second number


def _leb(body, at):
    while body[at] >= 0x80:
        at += 1
    return at + 1


def _vector(body, at, number):
    """Behind an instruction of vectors whose second number is this one."""
    if number <= 11 or number in (92, 93):
        return _leb(body, _leb(body, at))
    if number in (12, 13):
        return at + 16
    if 21 <= number <= 34:
        return at + 1
    if 84 <= number <= 91:
        return _leb(body, _leb(body, at)) + 1
    return at


def _prefixed(body, at):
    number, behind = uleb(body, at + 1)
    if body[at] == 0xFC:
        for _ in range(NUMBERS_OF_BULK.get(number, 0)):
            behind = _leb(body, behind)
        return behind
    if body[at] == 0xFD:
        return _vector(body, behind, number)
    return behind + 1 if number == 3 else _leb(body, _leb(body, behind))


def instructions(body, at):
    """(start, end) of each, from `at` to the end of the body."""
    end = len(body)
    while at < end:
        start, kind = at, KINDS[body[at]]
        at += 1
        if kind == INDEX or kind == BLOCK:
            at = _leb(body, at)
        elif kind == MEMORY or kind == INDICES:
            at = _leb(body, _leb(body, at))
        elif kind == FOUR:
            at += 4
        elif kind == EIGHT:
            at += 8
        elif kind == PREFIX:
            at = _prefixed(body, start)
        elif kind == BRANCHES or kind == TYPES:
            count, at = uleb(body, at)
            for _ in range(count + (kind == BRANCHES)):
                at = _leb(body, at)
        yield start, at
