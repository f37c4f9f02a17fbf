"""Faces of fonts, as the codecs' program knows them. Everything that it has told of a face is kept, so a process is started only where a
face, a character or a way to draw one is new; where one is, all of ASCII is asked for with it.
"""
import os
import struct
from collections import OrderedDict

from .child import Child, Gone

_FACES_KEPT = 32
_BITMAP_BYTES_KEPT = 8 << 20
_ASCII = range(32, 127)
_SMALL = 100 * 64  # sizes up to which drawing all of ASCII takes no time
_faces = OrderedDict()


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def numbers(self, count):
        self.at += 4 * count
        return struct.unpack_from(f"<{count}i", self.data, self.at - 4 * count)

    def number(self):
        return self.numbers(1)[0]

    def bytes(self, length=None):
        if length is None:
            length = self.number()
        self.at += length
        return self.data[self.at - length:self.at]

    def ended(self):
        return self.at >= len(self.data)


def _packed(numbers):
    numbers = list(numbers)
    return struct.pack(f"<{len(numbers)}i", *numbers)


class Face:
    """One face at one size. `open` gives the one that there is already, where it is the same file."""

    def __init__(self, source):
        self._source = source
        self._glyphs = ({}, {})   # by whether without gray: character -> glyph
        self._metrics = ({}, {})  # the same: glyph -> advance, left, bottom, right, top of its box
        self._kerned, self._kerning = set(), {}
        self._bitmaps, self._bitmap_bytes = {}, 0
        with self._child() as child:
            self._describe(child)

    @classmethod
    def open(cls, path, content, index, size, encoding, instance=-1, axes=()):
        path = os.fsencode(path)
        if path and not os.path.isabs(path):
            path = os.path.abspath(path)
        source = (path, content, index, size, encoding, instance, tuple(axes))
        key = (source, cls._identity(path))
        face = _faces.get(key)
        if face is None:
            face = _faces[key] = cls(source)
            if len(_faces) > _FACES_KEPT:
                _faces.popitem(last=False)
        else:
            _faces.move_to_end(key)
        return face

    @staticmethod
    def _identity(path):
        try:
            found = os.stat(path) if path else None
        except (OSError, ValueError):
            return None
        return found and (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def _child(self):
        path, content, index, size, encoding, instance, axes = self._source
        child = Child("font")
        try:
            child.write_frames(path, content)
            child.write_numbers(index, size)
            child.write_frames(encoding)
            child.write_numbers(instance)
            child.write_frames(_packed(axes))
            self._about = self._answer(child)
        except Gone:
            child.end()
            raise OSError("unknown freetype error") from None
        except BaseException:
            child.end()
            raise
        return child

    def _answer(self, child):
        try:
            error, data = child.read_frame(), child.read_frame()
        except Gone:
            raise OSError("unknown freetype error") from None
        if error:
            raise OSError(error.decode())
        return _Reader(data)

    def _describe(self, child):
        about = self._about
        names = []
        for _ in range(2):
            name = about.bytes().decode("utf-8", "replace")
            names.append(name if about.number() else None)
        self.family, self.style = names
        self.ascender, self.descender, self.height, self.max_advance, self.x_ppem, self.y_ppem, self.glyph_count = about.numbers(7)
        self.variations_error = about.bytes().decode()
        self.instances, self.axes = [], []
        if not self.variations_error:
            self.instances = [about.bytes() for _ in range(about.number())]
            for _ in range(about.number()):
                axis = dict(zip(("minimum", "default", "maximum"), about.numbers(3)))
                if (length := about.number()) >= 0:
                    axis["name"] = about.bytes(length)
                self.axes.append(axis)

    def _ask(self, child, letter, *parts):
        child.write_numbers(ord(letter))
        for part in parts:
            if isinstance(part, int):
                child.write_numbers(part)
            else:
                child.write_frames(_packed(part))
        return self._answer(child)

    def know(self, characters, mono):
        """Glyphs, metrics and kerning of these characters are known after this: (glyph of a character, metrics of a glyph, kerning)."""
        glyphs, metrics = self._glyphs[mono], self._metrics[mono]
        if not characters <= glyphs.keys():
            fresh = sorted((characters | set(_ASCII)) - glyphs.keys())
            try:
                with self._child() as child:
                    told = self._ask(child, "c", fresh, mono)
                    for character in fresh:
                        glyph = told.number()
                        metrics[glyph] = told.numbers(5)
                        glyphs[character] = glyph
                    self._learn_kerning(child, {glyphs[character] for character in fresh} - self._kerned)
            except Gone:
                raise OSError("unknown freetype error") from None
        return glyphs, metrics, self._kerning

    def _learn_kerning(self, child, fresh):
        if fresh:
            told = self._ask(child, "k", sorted(fresh), 0, sorted(self._kerned))
            while not told.ended():
                left, right, x, y = told.numbers(4)
                self._kerning[left, right] = x, y
            self._kerned |= fresh

    def bitmaps(self, glyphs, mono, stroke, filled):
        """glyph -> left and top of the plain bitmap; left, top, width, rows and bytes of the one to draw."""
        style = (mono, stroke, filled)
        known = self._bitmaps.setdefault(style, {})
        if not glyphs <= known.keys():
            fresh = glyphs - known.keys()
            if not stroke and self._source[3] <= _SMALL:
                of_character = self._glyphs[mono]
                fresh |= {of_character[character] for character in _ASCII} - known.keys()
            if self._bitmap_bytes > _BITMAP_BYTES_KEPT:
                self._bitmaps, self._bitmap_bytes = {style: (known := {})}, 0
                fresh |= glyphs
            fresh = sorted(fresh)
            try:
                with self._child() as child:
                    told = self._ask(child, "b", fresh, mono, stroke, filled)
            except Gone:
                raise OSError("unknown freetype error") from None
            for glyph in fresh:
                plain, place = told.numbers(2), told.numbers(4)
                known[glyph] = (*plain, *place, told.bytes(place[2] * place[3]))
            self._bitmap_bytes += len(told.data)
        return known
