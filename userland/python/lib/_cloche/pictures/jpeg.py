"""JPEG: `jpeg_decoder` and `jpeg_encoder` of Pillow's C part."""
from array import array
from operator import index

from . import pixels
from .child import BROKEN, Child, Gone
from .codec import Codec, Encoder

_COLOURS = {"L": (1, 0), "RGB": (3, 1), "YCbCr": (3, 2), "CMYK": (4, 3), "CMYK;I": (4, 3)}


class Decoder(Codec):
    """Decodes pieces of a file as Pillow reads them; the process lives as long as the picture is not whole."""

    def __init__(self, mode, rawmode, jpegmode="", scale=1, draft=0):
        super().__init__(mode)
        self._rawmode, self._jpegmode, self._scale, self._draft = rawmode, jpegmode, scale, draft
        self._child = self._rows = None

    def setimage(self, im, extents=None):
        super().setimage(im, extents)
        self._rows = pixels.unpacker(self.mode, self._rawmode, im, self.extents)

    def _started(self):
        if self._child is None:
            left, top, right, bottom = self.extents
            self._child = Child("jpeg-decode")
            self._child.write_frames(self._rawmode.encode(), self._jpegmode.encode())
            self._child.write_numbers(self._scale, self._draft, right - left, bottom - top)
        return self._child

    def decode(self, data):
        try:
            child = self._started()
            child.write_frames(data)
            while length := child.read_number():
                self._rows.decode(child.read(length))
            used, ended = child.read_number(), child.read_number()
        except Gone:
            used, ended = -1, BROKEN
        if used < 0:
            self.cleanup()
        return used, ended

    def cleanup(self):
        child, self._child = self._child, None
        if child is not None:
            child.end()

    __del__ = cleanup


def _bytes(value):
    return value.encode() if isinstance(value, str) else bytes(value or b"")


class JpegEncoder(Encoder):
    def __init__(self, mode, rawmode, quality=-1, progressive=False, smooth=0, optimize=False, keep_rgb=False, streamtype=0, dpi=(0, 0),
                 subsampling=-1, restart_blocks=0, restart_rows=0, qtables=None, comment=None, extra=b"", exif=b""):
        super().__init__(mode)
        self._rawmode = rawmode
        numbers = (quality, bool(progressive), smooth, bool(optimize), bool(keep_rgb), streamtype, *dpi, subsampling, restart_blocks,
                   restart_rows)
        self._numbers = [index(number) for number in numbers]
        if not all(-1 << 31 <= number < 1 << 31 for number in self._numbers):
            raise OverflowError("a setting of the JPEG encoder is out of range")
        tables = array("H", [number for table in qtables or () for number in table])
        self._frames = (tables.tobytes(), _bytes(comment), _bytes(extra), _bytes(exif))

    def make_file(self):
        left, top, right, bottom = self.extents
        with Child("jpeg-encode") as child:
            child.write_numbers(right - left, bottom - top, *_COLOURS[self._rawmode], *self._numbers)
            child.write_frames(*self._frames)
            for rows in pixels.packed(self.mode, self._rawmode, self.im, self.extents):
                child.write(rows)
            child.written()
            ended = child.read_number()
            return ended, child.read_frame()
