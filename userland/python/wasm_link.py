"""Puts C or Rust code that was linked by itself into a WebAssembly module, as if it had been linked with it.

The code comes as wasm-ld writes it with --emit-relocs: its data and its place in the table of functions are where they will be, beyond
the module's own, and its places that name a function, a type or an address are listed. What it lacks, functions and data, it gets from
the module by name. It has no start function, no globals but the stack pointer, and no memory and no table of its own.
"""
from dataclasses import dataclass

from wasm_module import CODE, CONST, DATA, ELEMENTS, EXPORTS, FUNCTIONS, IMPORTS, TYPES, PatchError, encode, encode_signed, sleb, uleb

FUNCTION, TABLE, MEMORY, GLOBAL = range(4)
STACK_POINTER = 0
# Kinds of relocations (the tool conventions of WebAssembly), by what stands there.
FUNCTION_INDEX, TYPE_INDEX, GLOBAL_INDEX = 0, 6, 7
IN_PLACE = {1, 2, 20}  # a place in the table, the table itself: final already
ADDRESS_LEB, ADDRESS_SLEB, ADDRESS_WORD = 3, 4, 5
UNDEFINED, SYMBOL_DATA, EXPLICIT_NAME = 0x10, 1, 0x40
CONSTRUCTORS, EMPTY = "__wasm_call_ctors", b"\0\x0b"
OF_THE_SYSTEM = "wasi_snapshot_preview1"  # what functions of the system are imported from; the module names them by it too


@dataclass
class Place:
    kind: int
    at: int  # in the section
    symbol: int
    addend: int


def text(data, at):
    length, at = uleb(data, at)
    return bytes(data[at:at + length]).decode(), at + length


def limits(data, at):
    """(least, most or None, the end) of a table or a memory."""
    flags, at = uleb(data, at)
    least, at = uleb(data, at)
    most = None
    if flags & 1:
        most, at = uleb(data, at)
    return least, most, at


class Code:
    """What wasm-ld wrote."""

    def __init__(self, data):
        self.data = data
        self.sections, self.order = {}, []
        at = 8
        while at < len(data):
            key = data[at]
            size, start = uleb(data, at + 1)
            at = start + size
            if key == 0:
                key, start = text(data, start)
            self.sections[key] = data[start:at]
            self.order.append(key)
        if 8 in self.sections:
            raise PatchError("the added code has a start function")
        self.types = self._types()
        self.pages = 0  # that memory has at least
        self.imports = self._imports()  # [(name, type)]
        self.functions = self._numbers(FUNCTIONS)
        self.exports = self._exports()
        self.symbols = self._symbols()

    def _numbers(self, section):
        data = self.sections[section]
        count, at = uleb(data, 0)
        numbers = []
        for _ in range(count):
            number, at = uleb(data, at)
            numbers.append(number)
        return numbers

    def _types(self):
        return list(read_types(self.sections[TYPES]))

    def _imports(self):
        data = self.sections.get(IMPORTS, b"\0")
        count, at = uleb(data, 0)
        found = []
        for _ in range(count):
            source, at = text(data, at)
            name, at = text(data, at)
            kind, at = data[at], at + 1
            if kind == FUNCTION:
                number, at = uleb(data, at)
                found.append((f"__imported_{source}_{name}" if source == OF_THE_SYSTEM else name, number))
            elif kind == TABLE:
                _, _, at = limits(data, at + 1)
            elif kind == MEMORY:
                self.pages, _, at = limits(data, at)
            else:
                raise PatchError(f"the added code wants a global {name}")
        return found

    def _exports(self):
        data = self.sections.get(EXPORTS, b"\0")
        count, at = uleb(data, 0)
        found = {}
        for _ in range(count):
            name, at = text(data, at)
            kind = data[at]
            index, at = uleb(data, at + 1)
            if kind == FUNCTION:
                found[name] = index
        return found

    def _symbols(self):
        """The name of each symbol of data that is not defined, None for others, in their order."""
        data = self.sections["linking"]
        _, at = uleb(data, 0)
        found = []
        while at < len(data):
            part = data[at]
            size, at = uleb(data, at + 1)
            end = at + size
            if part == 8:
                count, at = uleb(data, at)
                for _ in range(count):
                    kind = data[at]
                    flags, at = uleb(data, at + 1)
                    name = None
                    if kind == SYMBOL_DATA:
                        name, at = text(data, at)
                        if not flags & UNDEFINED:
                            name = None
                            for _ in range(3):
                                _, at = uleb(data, at)
                    elif kind == 3:  # a section
                        _, at = uleb(data, at)
                    else:
                        _, at = uleb(data, at)
                        if not flags & UNDEFINED or flags & EXPLICIT_NAME:
                            _, at = text(data, at)
                    found.append(name)
            at = end
        return found

    def places(self, section):
        """What is to be filled in within a section."""
        data = self.sections.get("reloc." + section, None)
        if data is None:
            return []
        _, at = uleb(data, 0)
        count, at = uleb(data, at)
        found = []
        for _ in range(count):
            kind = data[at]
            where, at = uleb(data, at + 1)
            symbol, at = uleb(data, at)
            addend = 0
            if kind in (ADDRESS_LEB, ADDRESS_SLEB, ADDRESS_WORD):
                addend, at = sleb(data, at)
            elif kind not in (FUNCTION_INDEX, TYPE_INDEX, GLOBAL_INDEX) and kind not in IN_PLACE:
                raise PatchError(f"the added code has a relocation of kind {kind}")
            found.append(Place(kind, where, symbol, addend))
        return found

    def begins_by_itself(self):
        """Whether something of it is to run before all else: the linker's own function for that has places that nothing lists."""
        index = next((index for index, name in self.names() if name == CONSTRUCTORS), None)
        if index is None:
            return False
        _, at = uleb(self.sections[CODE], 0)
        for _ in range(index - len(self.imports)):
            size, at = uleb(self.sections[CODE], at)
            at += size
        size, at = uleb(self.sections[CODE], at)
        return bytes(self.sections[CODE][at:at + size]) != EMPTY

    def elements(self, start):
        """The functions that it has put into the table, from `start` on."""
        data = self.sections.get(ELEMENTS, b"\0")
        count, at = uleb(data, 0)
        if count == 0:
            return []
        flags, at = uleb(data, at)
        if count != 1 or flags != 0 or data[at:at + 1] != CONST:
            raise PatchError("the added code fills the table in more than one piece")
        base, at = sleb(data, at + 1)
        if base != start:
            raise PatchError(f"the added code begins at {base} in the table, which has {start} places")
        number, at = uleb(data, at + 1)
        listed = []
        for _ in range(number):
            index, at = uleb(data, at)
            listed.append(index)
        return listed

    def names(self):
        """(index, name) of its own functions."""
        data = self.sections.get("name", b"")
        at = 0
        while at < len(data):
            kind = data[at]
            size, at = uleb(data, at + 1)
            end = at + size
            if kind == 1:
                count, at = uleb(data, at)
                for _ in range(count):
                    index, at = uleb(data, at)
                    name, at = text(data, at)
                    if index >= len(self.imports):
                        yield index, name
            at = end


def read_types(data):
    """Each type of functions as it is written."""
    count, at = uleb(data, 0)
    for _ in range(count):
        start = at
        if data[at] != 0x60:
            raise PatchError("a type is not one of functions")
        at += 1
        for _ in range(2):
            number, at = uleb(data, at)
            for _ in range(number):
                if data[at] in (0x63, 0x64):
                    raise PatchError("a function takes references with a type of their own")
                at += 1
        yield bytes(data[start:at])


def vector(content):
    """The number of elements of a section, and the rest of it."""
    count, at = uleb(content, 0)
    return count, bytes(content[at:])


@dataclass
class Added:
    functions: dict  # exported name -> its number in the module
    table: dict  # exported name -> its place in the table


def append(module, linked, data_addresses):
    """Puts the code into the module. `data_addresses` tells the address of a name of the module's data."""
    code = Code(linked)
    if code.begins_by_itself():
        raise PatchError("the added code has constructors or destructors")
    more = module.added.get(TYPES, (0, b""))
    types = [*read_types(module.content(TYPES)), *read_types(encode(more[0]) + more[1])]
    type_of = {content: index for index, content in reversed(list(enumerate(types)))}
    own_types = []
    for content in code.types:
        if content not in type_of:
            type_of[content] = len(types) + len(own_types)
            own_types.append(content)
    module.more(TYPES, len(own_types), b"".join(own_types))
    types += own_types

    numbers = []  # of the code's functions, imports first, in the module
    for name, number in code.imports:
        index = module.index(name)
        if types[module.type_of(index)] != code.types[number]:
            raise PatchError(f"{name} has other parameters than the added code expects")
        numbers.append(index)
    first = module.functions()
    numbers += range(first, first + len(code.functions))
    module.more(FUNCTIONS, len(code.functions), b"".join(encode(type_of[code.types[number]]) for number in code.functions))

    def filled(section, key):
        out = bytearray(code.sections[key])
        for place in code.places(section):
            at = place.at
            if place.kind == FUNCTION_INDEX:
                out[at:at + 5] = encode(numbers[uleb(out, at)[0]])
            elif place.kind == TYPE_INDEX:
                out[at:at + 5] = encode(type_of[code.types[uleb(out, at)[0]]])
            elif place.kind == GLOBAL_INDEX:
                if uleb(out, at)[0] != STACK_POINTER:
                    raise PatchError("the added code has a global of its own")
            elif place.kind not in IN_PLACE and (name := code.symbols[place.symbol]) is not None:
                address = data_addresses(name) + place.addend
                if place.kind == ADDRESS_WORD:
                    out[at:at + 4] = address.to_bytes(4, "little")
                else:
                    out[at:at + 5] = encode(address) if place.kind == ADDRESS_LEB else encode_signed(address)
        return out

    module.more(CODE, *vector(filled("CODE", CODE)))
    if DATA in code.sections:
        module.more(DATA, *vector(filled("DATA", DATA)))
    exports = {name: numbers[index] for name, index in code.exports.items()}
    table = module.table_size()
    listed = [numbers[index] for index in code.elements(table)]
    listed += sorted(set(exports.values()) - set(listed))
    module.more(ELEMENTS, 1, b"\0" + CONST + encode_signed(table) + b"\x0b" + encode(len(listed)) + b"".join(map(encode, listed)))
    module.grow_table(len(listed))
    module.name_more([(numbers[index], name.encode()) for index, name in code.names()])
    module.need_memory(code.pages)
    return Added(exports, {name: table + listed.index(index) for name, index in exports.items()})
