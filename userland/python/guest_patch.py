"""Changes the interpreter's WebAssembly where no Python code can: the numbers and texts of errors, threads (threads_patch.py), how deep it
goes (stack_patch.py), local time (zone_patch.py), where free memory lies (heap_patch.py), numpy's integers (numpy_patch.py), and integers
that are made of floats (conversions_patch.py). What else is in the way is here.

wasi-libc has WASI's error numbers and musl's texts. Agents compare with Linux's ("[Errno 2]"), so the two functions of CPython that
make exceptions of `errno` translate it by a table, and strerror's texts become glibc's. Functions are found by the names that the
module carries, places in them by the instructions around; where something is not as expected the build stops.
"""
import re
import sys
from pathlib import Path

import conversions_patch
import extensions_patch
import heap_patch
import numpy_patch
import random_patch
import stack_patch
import threads_patch
import zone_patch
from wasm_module import CALL, CONST, GET, LEB, LOAD, LOAD16_U, LOAD8_U, Module, PatchError, encode, once, uleb
from wasm_text import assemble

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib" / "_cloche" / "host"))
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


# Where a file object says that a write would block: a function of CPython, and the two that have it within them.
BLOCKING = ("_set_BlockingIOError", "_bufferedwriter_flush_unlocked", "_io_BufferedWriter_write")


def patch_blocking(module, table):
    for name in BLOCKING:
        body = module.body(name)
        _, end = translate_errno(body, name)
        module.change(name, body[:end] + LOAD8_U + encode(table) + body[end:])


def without_traces(module):
    """OpenBLAS's sgelsd writes on standard output which way it takes, which is all that it calls fwrite for."""
    traced = CALL + encode(module.index("fwrite")) + assemble("drop")
    body = module.body("sgelsd_")
    if traced not in body:
        raise PatchError("sgelsd has nothing to say")
    module.change("sgelsd_", body.replace(traced, assemble("drop; drop; drop; drop")))


def patch(source):
    """The changed module."""
    module = Module(bytearray(source))
    table = text_tables(module, module.body("strerror"))
    name = "PyErr_SetFromErrnoWithFilenameObjects"
    module.change(name, patch_set_from_errno(module.body(name), module.index("strerror"), table))
    patch_blocking(module, table)
    without_traces(module)
    threads_patch.patch(module)
    stack_patch.patch(module)
    zone_patch.patch(module)
    heap_patch.patch(module)
    numpy_patch.patch(module)
    random_patch.patch(module)
    conversions_patch.patch(module)
    extensions_patch.patch(module)
    return module.written()
