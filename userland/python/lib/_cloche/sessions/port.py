"""The descriptor through which a session speaks with its host (src/python/session_port.h).

To the host, one write each: a kind and what it says.
    C number name NUL arguments    calls a callback; number is 4 bytes, little endian, arguments are JSON
    X number                       the call is not wanted any more
    L                              a stop came before the code: is it still wanted?
    R record                       how an execution ended, JSON
    T records                      trace events, JSON texts with a line feed after each
    B bytes                        a piece of the state that was asked for
From the host, a stream of: length, number (4 bytes each), kind, payload.
    r    the call's result, JSON
    e    the call's error, JSON
"""
import asyncio
import errno
import fcntl
import json
import os
import struct
from itertools import count
from weakref import WeakSet

FD = 201
_F_SETFD, _FD_CLOEXEC = 2, 1
_CHUNK = 1 << 16
_HEAD = struct.Struct("<IIc")
_NUMBER = struct.Struct("<I")

_numbers = count(1)
_pending = {}  # number -> future
_watched = WeakSet()  # loops that look at the descriptor
_buffer = bytearray()
_make_error = None  # callbacks.py's, for the error of a call


def open():
    """Whether there is a host to speak with. Children do not get the descriptor."""
    try:
        fcntl.fcntl(FD, _F_SETFD, _FD_CLOEXEC)
        return True
    except OSError:
        return False


def send(frame):
    os.write(FD, frame)


def start_over():
    """In a fork: calls that the original has not got an answer for never get one here."""
    _buffer.clear()
    for number in list(_pending):
        _fail(number, {"kind": "cancelled", "message": "the session was forked while the call was in progress"})


async def call(name, arguments):
    """A callback of the host: JSON text in and out."""
    loop = asyncio.get_running_loop()
    if loop not in _watched:
        loop.add_reader(FD, _take_replies)
        _watched.add(loop)
    number, future = _begin(name, arguments, loop.create_future())
    try:
        return await future
    finally:
        if _pending.pop(number, None) is not None:
            _forget(number)


def call_and_wait(name, arguments):
    """The same where no loop runs; nothing else happens meanwhile."""
    number, reply = _begin(name, arguments, _Reply())
    try:
        while not reply.done():
            _take_replies()
        return reply.result()
    finally:
        if _pending.pop(number, None) is not None:
            _forget(number)


def _begin(name, arguments, future):
    number = next(_numbers) & 0xFFFFFFFF
    _pending[number] = future
    try:
        send(b"C" + _NUMBER.pack(number) + name.encode() + b"\0" + arguments.encode())
    except OSError as error:
        _pending.pop(number, None)
        if error.errno == errno.EBADF:
            raise RuntimeError("callbacks are of a session: this program has no host to call") from None
        raise
    return number, future


def _forget(number):
    try:
        send(b"X" + _NUMBER.pack(number))
    except OSError:
        pass  # the host is gone, and the call with it


def _take_replies():
    _buffer.extend(os.read(FD, _CHUNK))
    while len(_buffer) >= _HEAD.size:
        length, number, kind = _HEAD.unpack_from(_buffer)
        end = _HEAD.size + length
        if len(_buffer) < end:
            _buffer.extend(os.read(FD, max(end - len(_buffer), _CHUNK)))
            continue
        text = _buffer[_HEAD.size:end].decode()
        del _buffer[:end]
        if kind == b"e":
            _fail(number, json.loads(text))
        else:
            future = _pending.pop(number, None)
            if future is not None and not future.done():
                future.set_result(text)


def _fail(number, error):
    future = _pending.pop(number, None)
    if future is not None and not future.done():
        future.set_exception(_make_error(error))


class _Reply:
    """As much of a future as a call without a loop wants."""

    _result = _error = None
    _done = False

    def done(self):
        return self._done

    def set_result(self, result):
        self._result, self._done = result, True

    def set_exception(self, error):
        self._error, self._done = error, True

    def result(self):
        if self._error is not None:
            raise self._error
        return self._result
