"""`PIL._imagingft`: text in fonts that FreeType reads, laid out as Pillow's basic layout does. The faces are in faces.py."""
from math import ceil, floor
from operator import index as as_index

from .faces import Face


def _pixels(position):
    """Of 1/64 pixels, to the nearest."""
    return position + 32 >> 6


def _rounded(number):
    """Halves away from zero, as C does it."""
    return floor(number + 0.5) if number >= 0 else ceil(number - 0.5)


def _characters(text):
    if isinstance(text, str):
        return [*map(ord, text)]
    if isinstance(text, bytes):
        return [character if character < 128 else 0 for character in text]
    raise TypeError("expected string or bytes")


class Font:
    """A face of a size, with the names that Pillow's ImageFont asks for."""

    def __init__(self, filename, size, index, encoding, content):
        if isinstance(encoding, str):
            encoding = encoding.encode()
        self._source = (filename or b"", bytes(content), as_index(index), int(float(size) * 64), encoding)
        self._face = Face.open(*self._source)

    family = property(lambda self: self._face.family)
    style = property(lambda self: self._face.style)
    ascent = property(lambda self: _pixels(self._face.ascender))
    descent = property(lambda self: -_pixels(self._face.descender))
    height = property(lambda self: _pixels(self._face.height))
    x_ppem = property(lambda self: self._face.x_ppem)
    y_ppem = property(lambda self: self._face.y_ppem)
    glyphs = property(lambda self: self._face.glyph_count)

    def _layout(self, text, mono, direction, features, language):
        """[glyph, advance in 1/64 pixels] of each character, and the metrics of glyphs."""
        if features is not None or direction is not None or language is not None:
            raise KeyError("setting text direction, language or font features is not supported without libraqm")
        characters = _characters(text)
        glyphs, metrics, kerning = self._face.know(set(characters), mono)
        line = []
        before = 0
        for character in characters:
            glyph = glyphs[character]
            if line and (moved := kerning.get((before, glyph))) is not None:
                line[-1][1] += moved[0]
            line.append([glyph, metrics[glyph][0]])
            before = glyph
        return line, metrics

    def getlength(self, text, mode="", direction=None, features=None, language=None):
        line, _ = self._layout(text, mode == "1", direction, features, language)
        return sum(advance for _, advance in line)

    def getsize(self, text, mode="", direction=None, features=None, language=None, anchor=None):
        line, metrics = self._layout(text, mode == "1", direction, features, language)
        return self._bounds(line, metrics, anchor)

    def _bounds(self, line, metrics, anchor):
        """((width, height), (x, y) of the anchor) of what the glyphs cover, the pen's way included."""
        pen = left = right = bottom = top = 0
        for glyph, advance in line:
            x = _pixels(pen)
            pen += advance
            _, glyph_left, glyph_bottom, glyph_right, glyph_top = metrics[glyph]
            right = max(right, _pixels(pen), x + glyph_right)
            left = min(left, x + glyph_left)
            top = max(top, glyph_top)
            bottom = min(bottom, glyph_bottom)
        x, y = self._anchor("la" if anchor is None else anchor, pen, top, bottom, bool(line))
        return (right - left, top - bottom), (left - x, y - top)

    def _anchor(self, anchor, pen, top, bottom, is_text):
        face = self._face
        if len(anchor) != 2:
            raise ValueError(f"bad anchor specified: {anchor}")
        if not is_text:
            return 0, 0
        across = {"l": 0, "m": _pixels(int(pen / 2)), "r": _pixels(pen)}
        down = {"a": _pixels(face.ascender), "t": top, "m": _pixels(int((face.ascender + face.descender) / 2)), "s": 0, "b": bottom,
                "d": _pixels(face.descender)}
        if anchor[0] not in across or anchor[1] not in down:
            raise ValueError(f"bad anchor specified: {anchor}")
        return across[anchor[0]], down[anchor[1]]

    def render(self, text, fill, mode="", direction=None, features=None, language=None, stroke_width=0, stroke_filled=False, anchor=None,
               ink=0, start=(0, 0)):
        """(the image that `fill` made, with the text in it; where it belongs)."""
        mono = mode == "1"
        line, metrics = self._layout(text, mono, direction, features, language)
        (width, height), (x, y) = self._bounds(line, metrics, anchor)
        width += ceil(stroke_width * 2 + start[0])
        height += ceil(stroke_width * 2 + start[1])
        image = fill(width, height)
        place = _rounded(x - stroke_width), _rounded(y - stroke_width)
        if line and width and height:
            bitmaps = self._face.bitmaps({glyph for glyph, _ in line}, mono, _rounded(stroke_width * 64), bool(stroke_filled))
            if mode == "RGBA":
                _colour(image, self._drawn(_empty(width, height), line, bitmaps, stroke_width, start), ink)
            else:
                self._drawn(image, line, bitmaps, stroke_width, start)
        return image, place

    @staticmethod
    def _drawn(image, line, bitmaps, stroke_width, start):
        pen = left = top = 0
        for glyph, advance in line:
            plain_left, plain_top = bitmaps[glyph][:2]
            top = max(top, plain_top)
            left = min(left, plain_left + _pixels(pen))
            pen += advance
        pen = _rounded((-left + stroke_width + start[0]) * 64)
        base = _pixels(_rounded((-top - stroke_width - start[1]) * 64))
        for glyph, advance in line:
            _, _, left, top, width, rows, content = bitmaps[glyph]
            if width and rows:
                _blend(image, _gray(width, rows, content), _pixels(pen) + left, -(base + top))
            pen += advance
        return image

    def getvarnames(self):
        self._need_variations()
        return list(self._face.instances)

    def getvaraxes(self):
        self._need_variations()
        return [dict(axis) for axis in self._face.axes]

    def _need_variations(self):
        if self._face.variations_error:
            raise OSError(self._face.variations_error)

    def setvarname(self, number):
        self._face = Face.open(*self._source, instance=as_index(number))

    def setvaraxes(self, axes):
        if not isinstance(axes, list):
            raise TypeError("argument must be a list")
        try:
            numbers = [int(float(axis) * 65536) for axis in axes]
        except (TypeError, ValueError):
            raise TypeError("list must contain numbers") from None
        self._need_variations()
        self._face = Face.open(*self._source, axes=numbers)


def _empty(width, height):
    from PIL import Image
    return Image.core.fill("L", (width, height))


def _gray(width, rows, content):
    from PIL import Image
    return Image.frombytes("L", (width, rows), content).im


def _blend(image, glyph, x, y):
    """Puts a glyph over what is drawn already; what lies beyond the image is left out."""
    width, height = image.size
    box = max(x, 0), max(y, 0), min(x + glyph.size[0], width), min(y + glyph.size[1], height)
    if box[0] >= box[2] or box[1] >= box[3]:
        return
    if (box[2] - box[0], box[3] - box[1]) != glyph.size:
        glyph = glyph.crop((box[0] - x, box[1] - y, box[2] - x, box[3] - y))
    image.paste(image.crop(box).chop_screen(glyph), box)


def _colour(image, mask, ink):
    """A picture of the ink where the mask has anything, with the mask as its transparency."""
    for band in range(3):
        value = ink >> 8 * band & 255
        image.putband(mask.point([0] + [value] * 255, "L"), band)
    image.putband(mask, 3)


def getfont(filename, size, index=0, encoding="", font_bytes=b"", layout_engine=0):
    return Font(filename, size, index, encoding, font_bytes)


def fill_module(module):
    module.getfont, module.Font = getfont, Font
    module.freetype2_version = "2.13.3"
    module.HAVE_RAQM = module.HAVE_FRIBIDI = module.HAVE_HARFBUZZ = False
    module.raqm_version = module.fribidi_version = module.harfbuzz_version = None
