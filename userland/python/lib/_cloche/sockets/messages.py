"""Messages with control data, as sendmsg(2) and recvmsg(2) take them: struct msghdr and cmsghdr of a 32-bit machine."""
import operator
import struct

from ..host import door

MOST_NAME = 128
MOST_CONTROL = 20480  # bytes that the kernel takes
_HEADER = struct.Struct("<7I")  # name, its length, buffers, their number, control data, its length, flags
_CONTROL = struct.Struct("<Iii")  # length with this head, level, type
_NONE = 0xFFFFFFFF


def _aligned(length):
    return length + 3 & ~3


def CMSG_LEN(length, /):
    return _CONTROL.size + _checked(length)


def CMSG_SPACE(length, /):
    return _CONTROL.size + _aligned(_checked(length))


def _checked(length):
    if not 0 <= length < (1 << 31) - 64:
        raise OverflowError("CMSG_LEN() argument out of range")
    return length


def packed(ancdata):
    """The control data of (level, type, data) triples."""
    parts = []
    for item in ancdata:
        if not isinstance(item, (tuple, list)) or len(item) != 3:
            raise TypeError("[sendmsg() ancillary data items] must be sequence of length 3")
        level, kind, data = operator.index(item[0]), operator.index(item[1]), memoryview(item[2]).cast("B")
        parts.append(_CONTROL.pack(_CONTROL.size + len(data), level, kind) + bytes(data) + bytes(-len(data) % 4))
    return b"".join(parts)


class Message:
    """A struct msghdr in a call's frame, with what it names: an address, one buffer, control data."""

    def __init__(self, frame, name, data, control):
        self._name, self._data, self._control = (frame.data(value) if value else _NONE for value in (name, data, control))
        buffers = frame.data(struct.pack("<II", self._data, len(data)))
        self.header = door.Message(frame.data(_HEADER.pack(self._name, len(name), buffers, 1, self._control, len(control), 0)))
        self._size = len(data)

    def received(self, data, count):
        """(content, triples, flags, address) of a call that gave `count`."""
        _, name_length, _, _, _, control_length, flags = _HEADER.unpack_from(data, self.header)
        content = bytes(data[self._data:self._data + min(count, self._size)])
        control = bytes(data[self._control:self._control + control_length])
        return content, _unpacked(control), flags, bytes(data[self._name:self._name + min(name_length, MOST_NAME)])


def _unpacked(control):
    triples = []
    at = 0
    while at + _CONTROL.size <= len(control):
        length, level, kind = _CONTROL.unpack_from(control, at)
        triples.append((level, kind, control[at + _CONTROL.size:at + length]))
        at += _aligned(length)
    return triples
