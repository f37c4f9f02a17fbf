"""Changes the interpreter's WebAssembly where no Python code can: the numbers and texts of errors.

wasi-libc has WASI's error numbers and musl's texts. Agents compare with Linux's ("[Errno 2]"), so the two functions of CPython that
make exceptions of `errno` translate it by a table, and strerror's texts become glibc's. Functions are found by the names that the
module carries, places in them by the instructions around; where something is not as expected the build stops.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib" / "_cloche"))
import linux_errors  # noqa: E402

# WASI's numbers, from 0 on.
WASI = """
    SUCCESS 2BIG ACCES ADDRINUSE ADDRNOTAVAIL AFNOSUPPORT AGAIN ALREADY BADF BADMSG BUSY CANCELED CHILD CONNABORTED CONNREFUSED
    CONNRESET DEADLK DESTADDRREQ DOM DQUOT EXIST FAULT FBIG HOSTUNREACH IDRM ILSEQ INPROGRESS INTR INVAL IO ISCONN ISDIR LOOP MFILE
    MLINK MSGSIZE MULTIHOP NAMETOOLONG NETDOWN NETRESET NETUNREACH NFILE NOBUFS NODEV NOENT NOEXEC NOLCK NOLINK NOMEM NOMSG
    NOPROTOOPT NOSPC NOSYS NOTCONN NOTDIR NOTEMPTY NOTRECOVERABLE NOTSOCK OPNOTSUPP NOTTY NXIO OVERFLOW OWNERDEAD PERM PIPE PROTO
    PROTONOSUPPORT PROTOTYPE RANGE ROFS SPIPE SRCH STALE TIMEDOUT TXTBSY XDEV ACCES
""".split()
NUMBERS = [linux_errors.NUMBERS.get("E" + name, 0) for name in WASI]
EINTR = WASI.index("INTR")
# glibc's texts are longer than musl's, and no file gives these errors; what a socket says comes from our own modules.
WITHOUT_TEXT = """
    ADDRNOTAVAIL AFNOSUPPORT DESTADDRREQ IDRM ILSEQ MULTIHOP NETRESET NOLINK NOMSG NOPROTOOPT NOTRECOVERABLE OWNERDEAD PROTO
    PROTONOSUPPORT PROTOTYPE
""".split()

LEB = rb"((?:[\x80-\xff]{0,4}[\x00-\x7f]))"  # of at most five bytes
LOAD, LOAD8_U, LOAD16_U, CONST, CALL, GET, TEE = b"\x28\x02", b"\x2d\x00", b"\x2f\x01", b"\x41", b"\x10", b"\x20", b"\x22"


class PatchError(Exception):
    """The interpreter is another one than this file knows."""


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


class Module:
    def __init__(self, data):
        self.data = data
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

    def function_names(self, wanted):
        """name -> index, of the functions that are wanted."""
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
                    name = bytes(self.data[entry:entry + length])
                    if name in wanted:
                        found[name] = index
                    entry += length
            at += size
        return found

    def imported_functions(self):
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

    def bodies(self, indices):
        """index -> (start of the size, start, end) of the bodies that are asked for."""
        _, at, _ = self.sections[10]
        first = self.imported_functions()
        count, at = uleb(self.data, at)
        found = {}
        for index in range(first, first + count):
            size, start = uleb(self.data, at)
            if index in indices:
                found[index] = (at, start, start + size)
            at = start + size
        return found

    def offset_of(self, address, size):
        """Where in the file the memory at `address` comes from."""
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
            if base is not None and base <= address and address + size <= base + length:
                return at + address - base
            at += length
        raise PatchError(f"the interpreter has no data at {address}")


def once(pattern, body, what):
    found = list(re.finditer(pattern, body, re.DOTALL))
    if len(found) != 1:
        raise PatchError(f"{what} is not as expected: {len(found)} places")
    return found[0]


def text_tables(module, strerror):
    """Puts glibc's texts where musl's are, and behind them the table of numbers, whose address is the result."""
    match = once(re.escape(LOAD16_U) + LEB + re.escape(CONST) + LEB + rb"\x6a", strerror, "strerror")
    index_at, texts_at = uleb(match[1], 0)[0], uleb(match[2], 0)[0]
    texts, index, places = bytearray(), [], {}
    for name, number in zip(WASI, NUMBERS):
        text = "Error" if name in WITHOUT_TEXT else linux_errors.MESSAGES[number]
        if text not in places:
            places[text] = len(texts)
            texts += text.encode() + b"\0"
        index.append(places[text])
    table_at = texts_at + len(texts)
    content = bytes(texts) + bytes(NUMBERS)
    room = index_at - texts_at
    if not 0 < len(content) <= room:
        raise PatchError(f"strerror's texts have {room} bytes, {len(content)} are needed")
    place = module.offset_of(texts_at, room)
    module.data[place:place + len(content)] = content
    place = module.offset_of(index_at, 2 * len(index))
    module.data[place:place + 2 * len(index)] = b"".join(at.to_bytes(2, "little") for at in index)
    return table_at


def translate_errno(body, what):
    """`errno` becomes Linux's where it is loaded; (body, the load)."""
    match = once(re.escape(CONST + b"\0" + LOAD) + LEB + rb"(?=[\x22\x36])", body, what)
    return match[0], match.end()


def patch_set_from_errno(body, strerror, table):
    load, end = translate_errno(body, "PyErr_SetFromErrnoWithFilenameObjects")
    head, tail = body[:end] + LOAD8_U + encode(table), body[end:]
    eintr = once(re.escape(GET) + rb"." + re.escape(CONST + bytes([EINTR])) + rb"\x47", tail, "the look at EINTR")
    tail = tail[:eintr.start() + 3] + bytes([linux_errors.NUMBERS["EINTR"]]) + tail[eintr.start() + 4:]
    call = once(re.escape(GET) + rb"." + re.escape(CALL + encode(strerror)), tail, "the call of strerror")
    return head + tail[:call.start()] + load + tail[call.start() + 2:]


def patch_blocking(body, table):
    _, end = translate_errno(body, "_set_BlockingIOError")
    return body[:end] + LOAD8_U + encode(table) + body[end:]


def patch(source):
    """The changed module."""
    module = Module(bytearray(source))
    names = (b"PyErr_SetFromErrnoWithFilenameObjects", b"_set_BlockingIOError", b"strerror")
    indices = module.function_names(names)
    if len(indices) != len(names):
        raise PatchError(f"the interpreter has no functions {set(names) - set(indices)}")
    places = module.bodies(set(indices.values()))
    bodies = {name: bytes(module.data[slice(*places[indices[name]][1:])]) for name in names}
    table = text_tables(module, bodies[b"strerror"])
    changed = {
        indices[names[0]]: patch_set_from_errno(bodies[names[0]], indices[b"strerror"], table),
        indices[names[1]]: patch_blocking(bodies[names[1]], table),
    }
    header, start, end = module.sections[10]
    pieces, at = [], start
    for index in sorted(changed):
        size_at, _, body_end = places[index]
        pieces += [module.data[at:size_at], encode(len(changed[index])), changed[index]]
        at = body_end
    pieces.append(module.data[at:end])
    size = sum(map(len, pieces))
    return b"".join([module.data[:header + 1], encode(size), *pieces, module.data[end:]])
