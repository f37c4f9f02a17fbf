"""`PIL._webp`: WebP files, still and animated.

Natively a picture's rows are handed over by the address of its memory; here the plugin's own step before that, `_convert_frame`, gives a
frame whose `getim` is what packs the rows.
"""
import struct
from operator import index

from . import pixels
from .child import Child, Gone

_FRAMES_AT_A_TIME = 16 << 20  # bytes of pixels that one process decodes ahead
_CHUNKS = ("ICCP", "EXIF", "XMP ")


class _Frame:
    def __init__(self, picture):
        self.picture = picture

    def getim(self):
        return self

    def write(self, child):
        for rows in pixels.packed(self.picture.mode, self.rawmode(), self.picture.im):
            child.write(rows)

    def rawmode(self):
        return "RGBA" if self.picture.mode == "RGBA" else "RGB"


def adopt_plugin(plugin):
    convert = plugin._convert_frame

    def _convert_frame(im):
        return _Frame(convert(im))

    plugin._convert_frame = _convert_frame


def _bytes(value):
    return value.encode() if isinstance(value, str) else bytes(value or b"")


class WebPAnimDecoder:
    """A file. It is asked of a process what it is, and of others what its frames are, some at a time."""

    def __init__(self, data):
        self._data = bytes(data)
        self._frames, self._next = [], 0
        try:
            with self._child(-1) as child:
                if not child.read_number():
                    raise OSError("could not create decoder object")
                width, height, loop, background, frames, alpha = (child.read_number() for _ in range(6))
                self._chunks = {name: child.read_frame() if child.read_number() else None for name in _CHUNKS}
        except Gone:
            raise OSError("could not create decoder object") from None
        self._info = (width, height), loop, background & 0xFFFFFFFF, frames, "RGBA" if alpha else "RGBX"

    def _child(self, first):
        return Child.given("webp-decode", (first, _FRAMES_AT_A_TIME), self._data)

    def get_info(self):
        return self._info

    def get_chunk(self, name):
        return self._chunks[name]

    def reset(self):
        self._frames, self._next = [], 0

    def get_next(self):
        """(pixels, its end in ms), or None where there is no further frame."""
        if not self._frames:
            more = 1
            try:
                with self._child(self._next) as child:
                    while (more := child.read_number()) == 1:
                        timestamp = child.read_number()
                        self._frames.append((child.read_frame(), timestamp))
            except Gone:
                pass
            self._frames.reverse()
            if more and not self._frames:
                raise OSError("failed to read next frame")
        if not self._frames:
            return None
        self._next += 1
        return self._frames.pop()


def _answered(child, error):
    text, data = child.read_frame(), child.read_frame()
    if text:
        raise error(text.decode())
    return data


def WebPEncode(frame, lossless, quality, alpha_quality, icc_profile, method, exact, exif, xmp):
    width, height = frame.picture.size
    numbers = (width, height, len(frame.rawmode()), bool(lossless), index(method), index(exact))
    try:
        with Child("webp-encode") as child:
            child.write_numbers(*numbers)
            child.write(struct.pack("<ff", quality, alpha_quality))
            child.write_frames(_bytes(icc_profile), _bytes(exif), _bytes(xmp))
            frame.write(child)
            child.written()
            return _answered(child, ValueError)
    except Gone:
        return None


class WebPAnimEncoder:
    """An animation: its process lives until the file is assembled, or this object is gone."""

    def __init__(self, size, background, loop, minimize_size, kmin, kmax, allow_mixed, verbose):
        self._child = Child("webp-animate")
        background -= (background & 1 << 31) << 1
        self._tell(*size, background, loop, bool(minimize_size), kmin, kmax, bool(allow_mixed))

    def _tell(self, *numbers, rest=None):
        try:
            self._child.write_numbers(*map(index, numbers))
            if rest is not None:
                rest(self._child)
            return _answered(self._child, RuntimeError)
        except Gone:
            raise RuntimeError("the encoder has ended") from None

    def add(self, frame, timestamp, lossless, quality, alpha_quality, method):
        if frame is None:
            self._tell(ord("e"), timestamp)
            return

        def rest(child):
            child.write(struct.pack("<ff", quality, alpha_quality))
            frame.write(child)

        self._tell(ord("f"), timestamp, bool(lossless), method, len(frame.rawmode()), rest=rest)

    def assemble(self, icc_profile, exif, xmp):
        data = self._tell(ord("a"), rest=lambda child: child.write_frames(_bytes(icc_profile), _bytes(exif), _bytes(xmp)))
        self._child.end()
        return data

    def __del__(self):
        if (child := getattr(self, "_child", None)) is not None:
            child.end()


def fill_module(module):
    module.WebPAnimDecoder, module.WebPAnimEncoder, module.WebPEncode = WebPAnimDecoder, WebPAnimEncoder, WebPEncode
    module.webpdecoder_version = "1.5.0"
