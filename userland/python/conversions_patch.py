"""A float that does not fit into an integer becomes what x86-64 makes of it, in all code of the interpreter.

C leaves open what becomes of it. Programs are written where it is what x86-64's instructions give: an integer of 32 or 64 bits is its
least one, and one that is narrower or has no sign is a part of such a one, so that negative numbers go round as those of integers do.
scipy's filters of pictures, whose pixels have no sign, stand on that. WebAssembly's instructions give the nearest integer instead, and
0 for what is no number. numpy's conversions of arrays are in userland/python/extensions/casts.c, which warns of them as well.
"""
import re
import struct

from wasm_code import instructions
from wasm_link import read_types
from wasm_module import TYPES, PatchError, uleb, with_locals
from wasm_text import assemble

F64 = 0x7C
CONVERSION = re.compile(rb"\xfc[\x00-\x07]")
VECTORS = re.compile(rb"\xfd[\xf8\xf9\xfc\xfd]\x01")  # of which there are none
INT, UNSIGNED, LONG, UNSIGNED_LONG = range(4)  # the second number of an instruction without the bit that tells the float's size
INTO = (INT, UNSIGNED, INT, UNSIGNED, LONG, UNSIGNED_LONG, LONG, UNSIGNED_LONG)
SINGLES = (0, 1, 4, 5)  # the instructions for floats of 32 bits
TO_INT, TO_LONG, TO_UNSIGNED_LONG, PROMOTE, WRAP, SELECT, LESS, AT_LEAST = b"\xfc\2", b"\xfc\6", b"\xfc\7", b"\xbb", b"\xa7", b"\x1b", b"\x63", b"\x66"
# What takes fewer bits than the 32 that are made: a store of 8 or 16, or these alone.
NARROWING = (b"\x3a", b"\x3b", *(assemble(f"i32.const {bits}; i32.and") for bits in (0xFF, 0xFFFF)))
FEWEST = 4000  # that the interpreter has


def constant(value):
    return b"\x44" + struct.pack("<d", value)


def signed(into, get):
    """Of what is on the stack and what `get` gets: the least integer where it is not below the end, as nothing is that is no number."""
    bits, convert = (32, TO_INT) if into == INT else (64, TO_LONG)
    return convert + assemble(f"i{bits}.const {-2 ** (bits - 1)}") + get + constant(2.0 ** (bits - 1)) + LESS + SELECT


def unsigned_long(get):
    """x86-64 has no instruction for these: from 2^63 on that is taken away first."""
    upper = get + TO_UNSIGNED_LONG + assemble("i64.const 0") + get + constant(2.0 ** 64) + LESS + SELECT
    return upper + get + signed(LONG, get) + get + constant(2.0 ** 63) + AT_LEAST + SELECT


def converted(second, following, local):
    """The instructions in place of the one with this second number."""
    into, get = INTO[second], assemble(f"local.get {local}")
    first = PROMOTE if second in SINGLES else b""
    if into == UNSIGNED_LONG:
        return first + assemble(f"local.set {local}") + unsigned_long(get)
    first += assemble(f"local.tee {local}")
    if into == UNSIGNED:
        return first + (signed(INT, get) if following.startswith(NARROWING) else signed(LONG, get) + WRAP)
    return first + signed(into, get)


def changed(body, parameters):
    """(the body with other conversions, how many there are)."""
    with_one, local, start = with_locals(body, parameters, 1, F64)
    pieces, done, count = [with_one[:start]], start, 0
    for at, end in instructions(with_one, start):
        if with_one[at] == 0xFD and VECTORS.match(with_one, at):
            raise PatchError("the interpreter converts vectors of floats")
        if with_one[at] == 0xFC and with_one[at + 1] < len(INTO):
            pieces += [with_one[done:at], converted(with_one[at + 1], with_one[end:end + 4], local)]
            done, count = end, count + 1
    return b"".join([*pieces, with_one[done:]]), count


def patch(module):
    parameters = [uleb(content, 1)[0] for content in read_types(module.content(TYPES))]
    found = 0
    for index, (_, start, end) in module.places.items():
        body = module.changed.get(index) or bytes(module.data[start:end])
        if CONVERSION.search(body) or VECTORS.search(body):
            body, count = changed(body, parameters[module.type_of(index)])
            found += count
            if count:
                module.changed[index] = body
    if found < FEWEST:
        raise PatchError(f"the interpreter has {found} conversions of floats, which are fewer than expected")
    return found
