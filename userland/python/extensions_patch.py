"""The interpreter with the extensions of userland/python/extensions.py in it.

Their data lies behind the memory that the module begins with, which then begins larger: what the C library gives out comes from there on.
Modules are found by the interpreter's own table of built-in modules, which was copied when it started: it goes on in a longer one.
"""
import re

import extensions
from interpreter_data import InterpreterData
from wasm_link import append
from wasm_module import CONST, DATA, LEB, LOAD, PAGE, TEE, PatchError, encode, encode_signed, once, uleb

ROOM = 4096  # bytes for the table
ENTRY = 8  # bytes: the name's address, the function that begins the module


def table_of_modules(module, data):
    """The word with its address, and its content without the end."""
    load = once(re.escape(CONST) + LEB + re.escape(LOAD) + LEB + re.escape(TEE) + rb"." + re.escape(LOAD + b"\0"), module.body("_imp_is_builtin"),
                "the table of built-in modules")
    word = uleb(load[1], 0)[0] + uleb(load[2], 0)[0]
    start = at = data.word(word)
    while data.word(at):
        at += ENTRY
    if not 10 < (at - start) // ENTRY < 1000:
        raise PatchError("the table of built-in modules is not where it is expected")
    return word, bytes(data.memory[start:at])


def register(module, data, begins, address):
    """Adds modules to the table: `begins` tells their functions' places in the table of functions. The table lies at `address`."""
    word, entries = table_of_modules(module, data)
    names = b""
    names_at = address + len(entries) + ENTRY * (len(begins) + 1)
    for name, function in begins.items():
        entries += (names_at + len(names)).to_bytes(4, "little") + function.to_bytes(4, "little")
        names += name.encode() + b"\0"
    content = entries + bytes(ENTRY) + names
    if len(content) > ROOM:
        raise PatchError(f"the table of built-in modules has {len(content)} bytes, and there is room for {ROOM}")
    module.more(DATA, 1, b"\0" + CONST + encode_signed(address) + b"\x0b" + encode(len(content)) + content)
    module.put(word, module.at(word, 4), address.to_bytes(4, "little"))


def patch(module):
    data = InterpreterData(module)
    base = module.pages() * PAGE
    added = append(module, extensions.linked(module.table_size(), base + ROOM), data.address)
    begins = {name: added.table[f"PyInit_{name}"] for name in extensions.MODULES}
    register(module, data, begins, base)
