"""`PIL._avif`: AVIF files, still and animated. Errors have libavif's texts, and the kinds that Pillow's C part gives them."""
import struct
from operator import index

from .child import Child, Gone

libavif_version = "1.0.4"
_DECODER, _ENCODER = "dav1d", "aom"
_FRAMES_AT_A_TIME = 16 << 20  # bytes of pixels that one process decodes ahead
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_CHANNELS = {"L": 1, "RGBA": 4}  # all else is RGB
_SUBSAMPLINGS = {"4:0:0": 0, "4:2:0": 1, "4:2:2": 2, "4:4:4": 3}
_RANGES = {"full": 1, "limited": 0}
_TIMES = struct.Struct("<QQQ")
_MOST_SPEED, _MOST_TILES_LOG2 = 10, 6
# Of libavif's results: no such file, an empty one, a broken one, one cut off; Exif that is none, an option that is not known.
_SYNTAX_ERRORS, _VALUE_ERRORS = {2, 3, 9, 20}, {17, 19}


def codec_versions():
    return "dav1d [dec]:1.5.1, aom [enc]:3.12.1"


def decoder_codec_available(name):
    return name == _DECODER


def encoder_codec_available(name):
    return name == _ENCODER


def _error(result, text):
    kind = SyntaxError if result in _SYNTAX_ERRORS else ValueError if result in _VALUE_ERRORS else RuntimeError
    return kind(text)


def _gone(doing):
    return RuntimeError(f"{doing}: Out of memory")  # what else ends the process


class AvifDecoder:
    """A file. It is asked of a process what it is, and of others what its frames are, some at a time."""

    def __init__(self, data, codec, max_threads):
        if codec not in ("auto", _DECODER):
            raise ValueError(f"Invalid codec: {codec}")
        self._data = bytes(data)
        self._first, self._frames = 0, []
        doing = "Failed to decode image"
        try:
            with self._child(-1) as child:
                if result := child.read_number():
                    raise _error(result, f"{doing}: {child.read_frame().decode()}")
                width, height, frames, channels, orientation = (child.read_number() for _ in range(5))
                icc, exif, xmp = (child.read_frame() or None for _ in range(3))
        except Gone:
            raise _gone(doing) from None
        self._info = (width, height), frames, _MODES[channels], icc, exif, orientation, xmp

    def _child(self, first):
        return Child.given("avif-decode", (first, _FRAMES_AT_A_TIME), self._data)

    def get_info(self):
        return self._info

    def get_frame(self, number):
        """(pixels, units of a second, begin, duration)"""
        if not self._first <= number < self._first + len(self._frames):
            self._decode(number)
        return self._frames[number - self._first]

    def _decode(self, number):
        self._first, self._frames = number, []
        doing = f"Failed to decode frame {number}"
        try:
            with self._child(number) as child:
                while not (result := child.read_number()):
                    times = _TIMES.unpack(child.read(_TIMES.size))
                    self._frames.append((child.read_frame(), *times))
                if not self._frames:
                    raise _error(result, f"{doing}: {child.read_frame().decode()}")
        except Gone:
            if not self._frames:
                raise _gone(doing) from None


def _options(advanced):
    """Names and values for the encoder."""
    pairs = [] if advanced is None else list(advanced)
    for pair in pairs:
        if len(pair) != 2 or not all(isinstance(text, (str, bytes)) for text in pair):
            raise ValueError("Invalid advanced codec options")
    return [text if isinstance(text, bytes) else text.encode() for pair in pairs for text in pair]


class AvifEncoder:
    """A file that is made: its process lives until it is finished, or this object is gone."""

    def __init__(self, size, subsampling, quality, speed, max_threads, codec, range, tile_rows_log2, tile_cols_log2, alpha_premultiplied,
                 autotiling, icc_profile, exif, exif_orientation, xmp, advanced):
        if subsampling not in _SUBSAMPLINGS:
            raise ValueError(f"Invalid subsampling: {subsampling}")
        if range not in _RANGES:
            raise ValueError("Invalid range")
        if not min(size) > 0:
            raise ValueError("invalid canvas dimensions")
        if codec not in ("auto", _ENCODER):
            raise ValueError(f"Invalid codec: {codec}")
        self._size = size
        options = _options(advanced)
        tiles = (min(max(index(number), 0), _MOST_TILES_LOG2) for number in (tile_rows_log2, tile_cols_log2))
        self._child = Child("avif-encode")

        def write(child):
            child.write_numbers(*size, _SUBSAMPLINGS[subsampling], _RANGES[range], bool(alpha_premultiplied), exif_orientation)
            child.write_frames(bytes(icc_profile), bytes(exif), bytes(xmp))
            child.write_numbers(quality, min(max(speed, 0), _MOST_SPEED), bool(autotiling), *tiles, len(options) // 2)
            child.write_frames(*options)

        self._tell("Failed to encode image", write)

    def _tell(self, doing, write):
        try:
            write(self._child)
            if result := self._child.read_number():
                raise _error(result, self._child.read_frame().decode())
        except Gone:
            raise _gone(doing) from None

    def add(self, data, duration, size, mode, is_single_frame):
        if tuple(size) != tuple(self._size):
            raise ValueError("Image sequence dimensions mismatch, {}x{} != {}x{}".format(*self._size, *size))
        width, height = size
        channels = _CHANNELS.get(mode, 3)
        if len(data) != width * channels * height:
            raise RuntimeError(f"rgb data has incorrect size: {width * channels} * {height} ({width * channels * height}) != {len(data)}")

        def write(child):
            child.write_numbers(ord("f"), index(duration), channels, bool(is_single_frame))
            child.write(data)

        self._tell("Failed to encode image", write)

    def finish(self):
        doing = "Failed to finish encoding"
        self._tell(doing, lambda child: child.write_numbers(ord("e")))
        try:
            return self._child.read_frame()
        except Gone:
            raise _gone(doing) from None
        finally:
            self._child.end()

    def __del__(self):
        if (child := getattr(self, "_child", None)) is not None:
            child.end()


def fill_module(module):
    for name in ("AvifDecoder", "AvifEncoder", "codec_versions", "decoder_codec_available", "encoder_codec_available", "libavif_version"):
        setattr(module, name, globals()[name])
