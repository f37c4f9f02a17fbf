# SPDX-License-Identifier: Apache-2.0
"""A session in the kept Python of a box: its turns, its port, and what of it goes on in a fork."""
import errno
import os
import resource
import signal
import struct
import sys
from itertools import count

from ..programs import streams
from ..sockets import loop
from . import callbacks, execution, interrupts, port, snapshot

_PIECE = 48 << 10
_PACKET = struct.Struct("<IB")
_TURNS = {b"E": execution.evaluate, b"N": snapshot.take, b"R": snapshot.restore, b"C": snapshot.clear}
_numbers = count(1)
_owner = 0  # the process whose the port is: none that its code has forked


def open_session(descriptor):
    global _owner
    _owner = os.getpid()
    port.FD = descriptor
    port.send = _send
    sys.argv = [""]
    callbacks.install()
    interrupts.install()
    streams.line_by_line()


def _send(frame):
    """In packets of its number, so that what a signal's handler or another thread sends meanwhile is told apart."""
    if os.getpid() != _owner:
        raise OSError(errno.EBADF, "the session is another process's")
    number = next(_numbers) & 0xFFFFFFFF
    view = memoryview(frame)
    at = 0
    while True:
        piece = view[at:at + _PIECE]
        at += len(piece)
        is_last = at >= len(view)
        os.write(port.FD, _PACKET.pack(number, is_last) + piece)
        if is_last:
            return


def turn(what, payload, memory_bytes):
    if not memory_bytes:
        return _TURNS[what](payload)
    usual, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))
    try:
        return _TURNS[what](payload)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (usual, most))


def let_go():
    """Before this process becomes an image: the descriptors that the loop has are not there where it goes on."""
    own = loop.session_loop()
    own._selector.close()
    own._ssock.close()
    own._csock.close()


def take_up():
    """It goes on from an image."""
    global _owner
    _owner = os.getpid()
    signal.set_wakeup_fd(-1)
    loop.begin_anew()
    port._watched.clear()
    port.start_over()
