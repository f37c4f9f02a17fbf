"""Rows of a picture, to and from the bytes that the codecs' program knows: Pillow's own raw codec packs and unpacks them."""
from functools import cache

from PIL import Image

_PIECE = 1 << 18


def unpacker(mode, rawmode, im, extents, step=1):
    """What rows are put into the picture with: its decode(rows)."""
    raw = Image.core.raw_decoder(mode, rawmode, 0, step)
    raw.setimage(im, extents)
    return raw


def packed(mode, rawmode, im, extents=None):
    """The picture's rows, in pieces."""
    raw = Image.core.raw_encoder(mode, rawmode, 0, 1)
    raw.setimage(im, extents)
    ended = 0
    while not ended:
        _, ended, data = raw.encode(max(_PIECE, im.size[0] * 8))
        yield data
    if ended < 0:
        raise OSError(f"the picture's rows cannot be packed as {rawmode}")


@cache
def bits(mode, rawmode):
    """Of one pixel, packed: so many bytes does the raw codec take for eight."""
    for count in (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128):
        if unpacker(mode, rawmode, Image.core.new(mode, (8, 1)), (0, 0, 8, 1)).decode(bytes(count))[0] < 0:
            return count
    raise OSError(f"the picture's rows cannot be unpacked from {rawmode}")
