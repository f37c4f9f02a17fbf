"""A WebAssembly module of which single functions and pieces of data are changed.

Functions are found by the names that the module carries, places in them by the instructions around. Where something is not as
expected it is a PatchError: the interpreter is another one than the patch knows.
"""
import re

LEB = rb"((?:[\x80-\xff]{0,4}[\x00-\x7f]))"  # of at most five bytes
LOAD, LOAD8_U, LOAD16_U, CONST, CALL, GET, TEE = b"\x28\x02", b"\x2d\x00", b"\x2f\x01", b"\x41", b"\x10", b"\x20", b"\x22"
I32 = 0x7F


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


def once(pattern, body, what):
    found = list(re.finditer(pattern, body, re.DOTALL))
    if len(found) != 1:
        raise PatchError(f"{what} is not as expected: {len(found)} places")
    return found[0]


def with_locals(body, parameters, count):
    """The body with `count` more locals of 32 bits, the index of the first, and where the instructions begin."""
    groups, at = uleb(body, 0)
    first = parameters
    for _ in range(groups):
        number, at = uleb(body, at)
        first += number
        at += 1
    head = encode(groups + 1) + body[uleb(body, 0)[1]:at] + bytes([count, I32])
    return head + body[at:], first, len(head)


class Module:
    def __init__(self, data):
        self.data = data
        self.changed = {}  # index of a function: its new body
        self.exported = []  # more exports: (name, kind, index)
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
        _, at, _ = self.sections[2]
        count, at = uleb(self.data, at)
        for _ in range(count):
            for _ in range(2):
                length, at = uleb(self.data, at)
                at += length
            if self.data[at] != 0:
                raise PatchError("the interpreter imports something that is no function")
            _, at = uleb(self.data, at + 1)
        return count

    def _bodies(self):
        """index -> (start of the size, start, end)."""
        _, at, _ = self.sections[10]
        first = self._imported_functions()
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
        self.exported.append((name.encode(), kind, index))

    def _export_section(self):
        _, at, end = self.sections[7]
        count, at = uleb(self.data, at)
        content = encode(count + len(self.exported)) + bytes(self.data[at:end])
        for name, kind, index in self.exported:
            content += encode(len(name)) + name + bytes([kind]) + encode(index)
        return b"\7" + encode(len(content)) + content

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

    def put(self, address, before, after):
        """Puts other bytes of the same number where memory holds `before`."""
        place = self.offset_of(address, len(before))
        if bytes(self.data[place:place + len(before)]) != before or len(before) != len(after):
            raise PatchError(f"the interpreter has other data at {address} than expected")
        self.data[place:place + len(after)] = after

    def written(self):
        """The module with all changes."""
        header, start, end = self.sections[10]
        pieces, at = [], start
        for index in sorted(self.changed):
            size_at, _, body_end = self.places[index]
            pieces += [self.data[at:size_at], encode(len(self.changed[index])), self.changed[index]]
            at = body_end
        pieces.append(self.data[at:end])
        size = sum(map(len, pieces))
        exports, _, exports_end = self.sections[7]
        return b"".join([self.data[:exports], self._export_section(), self.data[exports_end:header + 1], encode(size), *pieces,
                         self.data[end:]])
