"""A WebAssembly module of which single functions and pieces of data are changed.

Functions are found by the names that the module carries, places in them by the instructions around. Where something is not as
expected it is a PatchError: the interpreter is another one than the patch knows.
"""
import re

LEB = rb"((?:[\x80-\xff]{0,4}[\x00-\x7f]))"  # of at most five bytes
LOAD, LOAD8_U, LOAD16_U, CONST, CALL, GET, TEE = b"\x28\x02", b"\x2d\x00", b"\x2f\x01", b"\x41", b"\x10", b"\x20", b"\x22"
I32 = 0x7F
PAGE = 65536
TYPES, IMPORTS, FUNCTIONS, TABLES, MEMORIES, EXPORTS, ELEMENTS, CODE, DATA, DATA_COUNT = 1, 2, 3, 4, 5, 7, 9, 10, 11, 12  # sections


class PatchError(Exception):
    """The interpreter is another one than the patch knows."""


def uleb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def encode(value, width=5):
    """Padded, as linkers write what they fill in later."""
    return bytes((value >> 7 * i & 0x7F) | (0x80 if i + 1 < width else 0) for i in range(width))


def sleb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value - (1 << shift) if byte & 0x40 else value, at


def encode_signed(value):
    """A number of 32 bits, padded in the same way."""
    return bytes(value >> 7 * i & 0x7F | 0x80 for i in range(4)) + bytes([value >> 28 & 0x7F])


def once(pattern, body, what):
    found = list(re.finditer(pattern, body, re.DOTALL))
    if len(found) != 1:
        raise PatchError(f"{what} is not as expected: {len(found)} places")
    return found[0]


def with_locals(body, parameters, count, kind=I32):
    """The body with `count` more locals, the index of the first, and where the instructions begin."""
    groups, at = uleb(body, 0)
    first = parameters
    for _ in range(groups):
        number, at = uleb(body, at)
        first += number
        at += 1
    head = encode(groups + 1) + body[uleb(body, 0)[1]:at] + bytes([count, kind])
    return head + body[at:], first, len(head)


class Module:
    def __init__(self, data):
        self.data = data
        self.changed = {}  # index of a function: its new body
        self.added = {}  # id of a section: (how many elements more, what they are)
        self.added_names = []  # (index of a function that is new, its name)
        self.more_table, self.least_pages = 0, 0
        self.types = None  # of the functions, once they are asked for
        self.sections = {}  # id or name: (start of the header, start, end)
        at = 8
        while at < len(data):
            size, start = uleb(data, at + 1)
            key = data[at]
            if key == 0:
                length, name_at = uleb(data, start)
                key = bytes(data[name_at:name_at + length]).decode()
            self.sections[key] = (at, start, start + size)
            at = start + size
        self.names = self._function_names()
        self.places = self._bodies()

    def _function_names(self):
        """name -> indices."""
        if "name" not in self.sections:
            raise PatchError("the interpreter carries no names of functions")
        _, at, end = self.sections["name"]
        length, at = uleb(self.data, at)
        at += length
        found = {}
        while at < end:
            kind = self.data[at]
            size, at = uleb(self.data, at + 1)
            if kind == 1:
                count, entry = uleb(self.data, at)
                for _ in range(count):
                    index, entry = uleb(self.data, entry)
                    length, entry = uleb(self.data, entry)
                    found.setdefault(bytes(self.data[entry:entry + length]), []).append(index)
                    entry += length
            at += size
        return found

    def _imported_functions(self):
        """The number of the type of each."""
        if 2 not in self.sections:
            return []
        _, at, _ = self.sections[2]
        count, at = uleb(self.data, at)
        found = []
        for _ in range(count):
            for _ in range(2):
                length, at = uleb(self.data, at)
                at += length
            if self.data[at] != 0:
                raise PatchError("the interpreter imports something that is no function")
            kind, at = uleb(self.data, at + 1)
            found.append(kind)
        return found

    def _bodies(self):
        """index -> (start of the size, start, end)."""
        _, at, _ = self.sections[10]
        first = len(self._imported_functions())
        count, at = uleb(self.data, at)
        found = {}
        for index in range(first, first + count):
            size, start = uleb(self.data, at)
            found[index] = (at, start, start + size)
            at = start + size
        return found

    def index(self, name):
        """Of the function that alone has this name."""
        indices = self.names.get(name.encode(), [])
        if len(indices) != 1:
            raise PatchError(f"the interpreter has {len(indices)} functions {name}")
        return indices[0]

    def body(self, name):
        """A function's locals and instructions, as they are by now."""
        index = self.index(name)
        _, start, end = self.places[index]
        return self.changed.get(index) or bytes(self.data[start:end])

    def change(self, name, body):
        self.changed[self.index(name)] = body

    def export(self, name, kind, index):
        """One more export: a function is of kind 0, a global of kind 3."""
        content = encode(len(name)) + name.encode() + bytes([kind]) + encode(index)
        self.more(7, 1, content)

    def content(self, section):
        _, start, end = self.sections[section]
        return self.data[start:end]

    def functions(self):
        """How many there are by now, imported ones too."""
        return max(self.places) + 1 + self.added.get(FUNCTIONS, (0, b""))[0]

    def type_of(self, index):
        """The number of the type of a function."""
        if self.types is None:
            _, at, _ = self.sections[3]
            count, at = uleb(self.data, at)
            self.types = self._imported_functions()
            for _ in range(count):
                number, at = uleb(self.data, at)
                self.types.append(number)
        return self.types[index]

    def more(self, section, count, content):
        """Elements behind those that a section has."""
        before, there = self.added.get(section, (0, b""))
        self.added[section] = before + count, there + content

    def place_of(self, name):
        """Where the table has this function."""
        index = self.index(name)
        _, at, _ = self.sections[ELEMENTS]
        count, at = uleb(self.data, at)
        for _ in range(count):
            flags, at = uleb(self.data, at)
            if flags != 0 or self.data[at:at + 1] != CONST:
                raise PatchError("the interpreter fills its table in an unknown way")
            base, at = sleb(self.data, at + 1)
            number, at = uleb(self.data, at + 1)
            for place in range(base, base + number):
                found, at = uleb(self.data, at)
                if found == index:
                    return place
        raise PatchError(f"{name} has no place in the table")

    def copied(self, index, name):
        """The index of a function more, that does what the one with this index does by now."""
        _, start, end = self.places[index]
        body = self.changed.get(index) or bytes(self.data[start:end])
        copy = self.functions()
        self.more(FUNCTIONS, 1, encode(self.type_of(index)))
        self.more(CODE, 1, encode(len(body)) + body)
        self.name_more([(copy, f"{name}.copied".encode())])
        return copy

    def name_more(self, names):
        self.added_names += names

    def table_size(self):
        """Of the one table, by now."""
        return self._limits(4, 1)[1] + self.more_table

    def grow_table(self, count):
        self.more_table += count

    def pages(self):
        """Of the memory, at the beginning."""
        return max(self._limits(5, 0)[1], self.least_pages)

    def need_memory(self, pages):
        self.least_pages = max(self.least_pages, pages)

    def _limits(self, section, before):
        """(flags, least, most or None) of the one table or memory; `before`: bytes of what stands before them."""
        _, at, _ = self.sections[section]
        count, at = uleb(self.data, at)
        flags, at = uleb(self.data, at + before)
        if count != 1 or flags > 1:
            raise PatchError("the interpreter has a memory or a table of an unknown kind")
        least, at = uleb(self.data, at)
        return flags, least, uleb(self.data, at)[0] if flags else None

    def call(self, name):
        """The instruction that calls this function."""
        return CALL + encode(self.index(name))

    def offset_of(self, address, size):
        """Where in the file the memory at `address` comes from."""
        for base, at, length in self.segments():
            if base <= address and address + size <= base + length:
                return at + address - base
        raise PatchError(f"the interpreter has no data at {address}")

    def segments(self):
        """(address, place in the file, size) of what memory begins with."""
        _, at, _ = self.sections[11]
        count, at = uleb(self.data, at)
        for _ in range(count):
            flags, at = uleb(self.data, at)
            base = None
            if flags == 0:
                if self.data[at:at + 1] != CONST:
                    raise PatchError("the interpreter has data of an unknown kind")
                base, at = uleb(self.data, at + 1)
                at += 1  # the `end` of the expression
            length, at = uleb(self.data, at)
            if base is not None:
                yield base, at, length
            at += length

    def addresses_of(self, content):
        """Where in memory these bytes are."""
        found = []
        for base, start, length in self.segments():
            at = self.data.find(content, start, start + length)
            while at >= 0:
                found.append(base + at - start)
                at = self.data.find(content, at + 1, start + length)
        return found

    def at(self, address, size):
        """What memory has at an address."""
        place = self.offset_of(address, size)
        return bytes(self.data[place:place + size])

    def put(self, address, before, after):
        """Puts other bytes of the same number where memory holds `before`."""
        place = self.offset_of(address, len(before))
        if bytes(self.data[place:place + len(before)]) != before or len(before) != len(after):
            raise PatchError(f"the interpreter has other data at {address} than expected")
        self.data[place:place + len(after)] = after

    def _code(self):
        _, start, end = self.sections[10]
        pieces, at = [], start
        for index in sorted(self.changed):
            size_at, _, body_end = self.places[index]
            pieces += [self.data[at:size_at], encode(len(self.changed[index])), self.changed[index]]
            at = body_end
        pieces.append(self.data[at:end])
        return b"".join(pieces)

    def _names(self):
        """The section of names with those of new functions, which come last."""
        _, start, end = self.sections["name"]
        length, at = uleb(self.data, start)
        at += length
        pieces = [self.data[start:at]]
        while at < end:
            kind = self.data[at]
            size, place = uleb(self.data, at + 1)
            at = place + size
            if kind == 1:
                count, first = uleb(self.data, place)
                content = encode(count + len(self.added_names)) + bytes(self.data[first:at])
                content += b"".join(encode(index) + encode(len(name)) + name for index, name in sorted(self.added_names))
                pieces += [bytes([kind]), encode(len(content)), content]
            else:
                pieces += [bytes([kind]), encode(size), self.data[place:at]]
        return b"".join(pieces)

    def _section(self, key):
        """A section's content with all changes."""
        if key == "name" and self.added_names:
            return self._names()
        if key == 4 and self.more_table:
            flags, least, most = self._limits(4, 1)
            kind = self.content(4)[1:2]
            return b"\1" + kind + bytes([flags]) + encode(least + self.more_table) + (encode(most + self.more_table) if flags else b"")
        if key == 5 and self.least_pages:
            flags, least, most = self._limits(5, 0)
            return b"\1" + bytes([flags]) + encode(max(least, self.least_pages)) + (encode(most) if flags else b"")
        content = self._code() if key == 10 else self.content(key)
        if key == 12 and 11 in self.added:
            return encode(uleb(content, 0)[0] + self.added[11][0])
        if key in self.added:
            count, at = uleb(content, 0)
            number, more = self.added[key]
            content = b"".join([encode(count + number), content[at:], more])
        return content

    def written(self):
        """The module with all changes."""
        pieces = [self.data[:8]]
        for key, (header, _, _) in sorted(self.sections.items(), key=lambda entry: entry[1]):
            content = self._section(key)
            pieces += [self.data[header:header + 1], encode(len(content)), content]
        return b"".join(pieces)
