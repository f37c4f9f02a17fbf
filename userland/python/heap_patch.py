"""Tells the host where the allocator's state lies, as a global, so that memory that it holds for later goes back to the machine.

The state is wasi-libc's `_gm_` (Doug Lea's malloc 2.8.6). Every free() reads its member `least_addr` first, and then `dv` and
`smallmap`: by these three its address is known, or the build stops.
"""
import re

from wasm_module import CONST, LEB, LOAD, PatchError, encode_signed, once, uleb

NAME = "__cloche_heap"
LEAST_ADDRESS, DESIGNATED_VICTIM = 16, 20
GLOBALS, GLOBAL_KIND, I32, END = 6, 3, b"\x7f", b"\x0b"


def globals_of(module):
    return uleb(module.content(GLOBALS), 0)[0]


def patch(module):
    at_zero = re.escape(CONST + b"\0" + LOAD)
    found = re.findall(at_zero + LEB, module.body("dlfree"))
    offsets = [uleb(place, 0)[0] for place in found]
    state = offsets[0] - LEAST_ADDRESS if offsets else 0
    if state <= 0 or offsets[1] != state + DESIGNATED_VICTIM or state not in offsets:
        raise PatchError(f"the allocator's state is not where it was: {offsets[:4]}")
    index = globals_of(module)
    module.more(GLOBALS, 1, I32 + b"\0" + CONST + encode_signed(state) + END)
    module.export(NAME, GLOBAL_KIND, index)
