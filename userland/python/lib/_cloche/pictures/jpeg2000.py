"""JPEG 2000: `jpeg2k_decoder` and `jpeg2k_encoder` of Pillow's C part."""
from array import array
from operator import index

from . import pixels
from .child import BROKEN, Child, Gone
from .codec import Codec, Encoder

_PROGRESSIONS = ("LRCP", "RLCP", "RPCL", "PCRL", "CPRL")
_CINEMA = {"no": 0, "cinema2k-24": 1, "cinema2k-48": 2, "cinema4k-24": 3}
# Of a mode: components, bits of a sample.
_MODES = {"L": (1, 8), "LA": (2, 8), "RGB": (3, 8), "RGBA": (4, 8), "YCbCr": (3, 8), "CMYK": (4, 8), "I;16": (1, 16), "I;16B": (1, 16)}
_COLOURS = {"YCbCr": 1, "CMYK": 2}  # others are gray or RGB, by their number of components
# Of a mode and a number of components: how the rows are unpacked into it; those that are missing are converted.
_DIRECT = {("L", 1): "L", ("P", 1): "P", ("LA", 2): "LA", ("PA", 2): "PA", ("RGB", 3): "RGB", ("RGB", 4): "RGBX", ("RGBA", 4): "RGBA",
           ("CMYK", 4): "CMYK", ("I;16", 1): "I;16", ("I;16B", 1): "I;16"}


class Decoder(Codec):
    pulls_fd = True

    def __init__(self, mode, kind, reduce=0, layers=0, fd=-1, length=-1):
        super().__init__(mode)
        self._kind, self._reduce, self._layers = kind, index(reduce), index(layers)

    def decode(self, _):
        left, top, right, bottom = self.extents
        width, height = right - left, bottom - top
        try:
            with Child("jpeg2000-decode") as child:
                child.write_frames(self._kind.encode())
                child.write_numbers(self._reduce, self._layers, min((width + 1) * (height + 1) << 2 * self._reduce, (1 << 31) - 1),
                                    16 if self.mode.startswith("I;16") else 8)
                child.write_frames(self.fd.read())
                child.written()
                if ended := child.read_number():
                    return -1, ended
                size, parts, ycbcr = (child.read_number(), child.read_number()), child.read_number(), child.read_number()
                if size != (width, height):
                    return -1, BROKEN
                rows = child.read(width * height * parts * (2 if self.mode.startswith("I;16") else 1))
        except Gone:
            return -1, BROKEN
        return -1, self._put(rows, parts, ycbcr)

    def _put(self, rows, parts, ycbcr):
        rawmode = _DIRECT.get((self.mode, parts))
        if rawmode is not None and not ycbcr:
            pixels.unpacker(self.mode, rawmode, self.im, self.extents).decode(rows)
            return 0
        if self.mode not in ("RGB", "RGBA"):
            return BROKEN
        self.im.paste(self._converted(rows, parts, ycbcr).convert(self.mode).im, self.extents)
        return 0

    def _converted(self, rows, parts, ycbcr):
        from PIL import Image
        size = self.extents[2] - self.extents[0], self.extents[3] - self.extents[1]
        if not ycbcr:
            return Image.frombytes(("L", "LA", "RGB", "RGBA")[parts - 1], size, rows)
        if parts == 3:
            return Image.frombytes("YCbCr", size, rows).convert("RGB")
        bands = Image.frombytes("RGBA", size, rows).split()
        return Image.merge("RGBA", (*Image.merge("YCbCr", bands[:3]).convert("RGB").split(), bands[3]))


def _pair(value):
    return (0, 0) if value is None else (index(value[0]), index(value[1]))


class Jpeg2000Encoder(Encoder):
    pushes_fd = True

    def __init__(self, mode, kind, offset=None, tile_offset=None, tile_size=None, quality_mode="rates", quality_layers=None, num_resolutions=0,
                 cblk_size=None, precinct_size=None, irreversible=False, progression="LRCP", cinema_mode="no", mct=0, signed=False, fd=-1,
                 comment=None, plt=False):
        super().__init__(mode)
        if progression not in _PROGRESSIONS:
            raise ValueError("unknown progression")
        offset, tile_offset, tile_size = _pair(offset), _pair(tile_offset), _pair(tile_size)
        _check_tiles(offset, tile_offset, tile_size)
        self._numbers, self._kind = None, kind
        if mode not in _MODES or min(*offset, *tile_offset, *tile_size) < 0:
            return  # an error of the encoding, as natively
        self._comment = _checked_comment(comment)
        self._layers = array("f", quality_layers or ()).tobytes()
        self._numbers = (*_MODES[mode], _COLOURS.get(mode, 0), bool(signed), *offset, *tile_offset, *tile_size, quality_mode == "dB",
                         index(num_resolutions), *_pair(cblk_size), *_pair(precinct_size), bool(irreversible), _PROGRESSIONS.index(progression),
                         _CINEMA.get(cinema_mode, 0), index(mct), bool(plt))

    def encode_to_pyfd(self):
        ended, data = self.encoded()
        if not ended:
            self.fd.write(data)
        return len(data), ended

    def make_file(self):
        if self._numbers is None:
            return BROKEN, b""
        left, top, right, bottom = self.extents
        with Child("jpeg2000-encode") as child:
            child.write_frames(self._kind.encode())
            child.write_numbers(right - left, bottom - top, *self._numbers)
            child.write_frames(self._layers, self._comment)
            for rows in pixels.packed(self.mode, "I;16" if self.mode.startswith("I;16") else self.mode, self.im, self.extents):
                child.write(rows)
            child.written()
            return child.read_number(), child.read_frame()


def _check_tiles(offset, tile_offset, tile_size):
    if any(tile_size):
        if tile_offset[0] > offset[0] or tile_offset[1] > offset[1]:
            raise ValueError("JPEG 2000 tile offset too large to cover image area")
        if tile_offset[0] + tile_size[0] <= offset[0] or tile_offset[1] + tile_size[1] <= offset[1]:
            raise ValueError("JPEG 2000 tile offset too small; top left tile must intersect image area")


def _checked_comment(comment):
    comment = comment or b""
    if len(comment) > 65531:
        raise ValueError("JPEG 2000 comment is too long")
    return comment
