"""TIFF's compressions: `libtiff_decoder` and `libtiff_encoder` of Pillow's C part."""
import os
import struct
from array import array

from . import pixels
from .child import BROKEN, Child, Gone
from .codec import Codec, Encoder

_CONFIG = -8
_NAMES_OF_INKS, _COLOUR_MAP, _SUBSAMPLING, _BLACK_AND_WHITE = 333, 320, 530, 532
_BYTE, _ASCII, _SHORT, _LONG, _RATIONAL, _SBYTE, _UNDEFINED, _SSHORT, _SLONG, _SRATIONAL, _FLOAT, _DOUBLE, _IFD = range(1, 14)
_LONG8 = 16
_CODES = {_SHORT: ("H", 16), _LONG: ("I", 32), _SBYTE: ("b", 8), _SSHORT: ("h", 16), _SLONG: ("i", 32)}


def _content(fd):
    """All of a file, wherever it stands."""
    pieces, at = [], 0
    while piece := os.pread(fd, 1 << 20, at):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


class Decoder(Codec):
    """Of a whole file: natively given as a descriptor, or as what `decode` gets."""

    def __init__(self, mode, rawmode, fd=0, offset=0):
        super().__init__(mode)
        self._rawmode, self._fd, self._offset = rawmode, fd, offset

    def decode(self, data):
        try:
            with Child("tiff-decode") as child:
                return -1, self._decoded(child, _content(self._fd) if self._fd else data)
        except Gone:
            return -1, BROKEN

    def _decoded(self, child, data):
        left, top, right, bottom = self.extents
        child.write_numbers(self._offset, right - left, bottom - top, pixels.bits(self.mode, self._rawmode))
        child.write_frames(data)
        child.written()
        rawmodes, premultiplied = [self._rawmode], False
        while kind := child.read_number():
            if kind == 2:
                planes, depth, premultiplied = (child.read_number() for _ in range(3))
                if planes:
                    rawmodes = self._of_planes(planes, depth)
            else:
                plane, x, y, width, rows = (child.read_number() for _ in range(5))
                block = child.read_frame()
                if plane < len(rawmodes):
                    pixels.unpacker(self.mode, rawmodes[plane], self.im, (left + x, top + y, left + x + width, top + y + rows)).decode(block)
        ended = child.read_number()
        if not ended and premultiplied and self.mode == "RGBA":
            self._divide()
        return ended

    def _of_planes(self, planes, depth):
        bands = ("R", "G", "B", "A") if self.mode in ("RGB", "RGBX", "RGBA") else tuple(self.mode)
        suffix = ";16N" if depth == 16 else ""
        return [band + suffix for band in bands[:planes]]

    def _divide(self):
        """Colours that are multiplied by their alpha become plain."""
        rows = b"".join(pixels.packed("RGBA", "RGBA", self.im))
        pixels.unpacker("RGBA", "RGBa", self.im, (0, 0, *self.im.size)).decode(rows)


class TiffEncoder(Encoder):
    def __init__(self, mode, rawmode, fd, filename, tags, types):
        super().__init__(mode)
        self._rawmode, self._fd = rawmode, fd
        self._tags = [packed for number, value in tags if (packed := _packed_tag(number, value, types)) is not None]

    def make_file(self):
        left, top, right, bottom = self.extents
        length = ((right - left) * pixels.bits(self.mode, self._rawmode) + 7) // 8
        with Child("tiff-encode") as child:
            child.write_numbers(bottom - top, length, len(self._tags))
            for head, content in self._tags:
                child.write_numbers(*head)
                child.write_frames(content)
            for rows in pixels.packed(self.mode, self._rawmode, self.im, self.extents):
                child.write(rows)
            child.written()
            ended, data = child.read_number(), child.read_frame()
        if ended == _CONFIG:
            raise RuntimeError("Error setting from dictionary")
        if self._fd and not ended:
            os.lseek(self._fd, 0, os.SEEK_SET)
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view):]
        return ended, data


def _type_of(value):
    if isinstance(value, int):
        return _LONG
    if isinstance(value, float):
        return _DOUBLE
    if isinstance(value, bytes):
        return _ASCII
    first = value[0] if isinstance(value, tuple) and value else None
    return _LONG if isinstance(first, int) else _FLOAT if isinstance(first, float) else 0


def _packed_tag(number, value, types):
    """((number, type, shape, several, fresh), content) as the program takes it; None where there is nothing to set."""
    from PIL import TiffTags
    fresh = number not in TiffTags.LIBTIFF_CORE
    kind = types.get(number, 0) if fresh else 0
    if not _BYTE <= kind <= _LONG8:
        kind = _type_of(value)
    several = isinstance(value, (tuple, list))
    if several and not value:
        return None
    if fresh and kind in (_BYTE, _UNDEFINED):
        several = True
    shape, content = _shaped(number, kind, value, several)
    return (number, kind, ord(shape), several, fresh), content


def _shaped(number, kind, value, several):
    if kind in (_BYTE, _UNDEFINED) or number == _NAMES_OF_INKS:
        return "b", bytes(value)
    if several:
        return _several(number, kind, value)
    if kind in _CODES or kind == _IFD:
        return "i", struct.pack("<i", _wrapped(_wrapped(value, *_CODES.get(kind, ("I", 32))), "i", 32))
    if kind == _ASCII:
        return "t", bytes(value).split(b"\0")[0]
    if kind in (_FLOAT, _DOUBLE, _RATIONAL, _SRATIONAL):
        return "d", struct.pack("<d", float(value))
    if kind == _LONG8:
        return "l", struct.pack("<Q", int(value) & (1 << 64) - 1)
    raise RuntimeError("Error setting from dictionary")


def _several(number, kind, value):
    if number == _COLOUR_MAP:
        if len(value) != 768:
            raise ValueError("Requiring 768 items for Colormap")
        return "m", array("H", [int(each) & 0xFFFF for each in value]).tobytes()
    if number == _SUBSAMPLING:
        return "2", array("H", [int(each) & 0xFFFF for each in value[:2]]).tobytes()
    if number == _BLACK_AND_WHITE:
        return "r", struct.pack(f"<{len(value)}f", *map(float, value))
    if kind in _CODES:
        code, width = _CODES[kind]
        return "a", struct.pack(f"<{len(value)}{code}", *[_wrapped(each, code, width) for each in value])
    if kind == _FLOAT or kind == _RATIONAL:
        return "r" if kind == _RATIONAL else "a", struct.pack(f"<{len(value)}f", *map(float, value))
    if kind == _DOUBLE:
        return "a", struct.pack(f"<{len(value)}d", *map(float, value))
    raise RuntimeError("Error setting from dictionary")


def _wrapped(value, code, width):
    """As C converts it."""
    value = int(value) & (1 << width) - 1
    return value - (1 << width) if code.islower() and value >> width - 1 else value
